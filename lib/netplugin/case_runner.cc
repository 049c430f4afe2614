#include "case_runner.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "isolate.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::netplugin {
namespace {

std::byte pattern(std::uint64_t seed, std::size_t at) {
  std::uint64_t word = (seed + 1) * 0x9E3779B97F4A7C15U + at * 0xD1B54A32D192ED03U;
  word ^= word >> 29U;
  return static_cast<std::byte>(word * 0xBF58476D1CE4E5B9U >> 56U);
}

std::size_t first_wrong(const std::byte* data, std::size_t bytes, std::uint64_t seed) {
  std::size_t at = 0;
  while (at < bytes && data[at] == pattern(seed, at)) ++at;
  return at;
}

}  // namespace

Block::Block(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(Fault::failed, fmt::format("mmap({} bytes)", bytes_), "Free memory.", errno);
  }
  data_ = static_cast<std::byte*>(memory);
}

Block::Block(Block&& other) noexcept
    : registration(other.registration),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

Block::~Block() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

HandleBuffer::HandleBuffer() : bytes_() {
  bytes_.fill(kFill);
}

std::string HandleBuffer::text() const {
  return {reinterpret_cast<const char*>(bytes_.data()), abi::kHandleBytes};
}

void HandleBuffer::put(std::string_view handle) {
  if (handle.size() != abi::kHandleBytes) {
    throw Failed{fmt::format("the other end sent a handle of {} bytes", handle.size())};
  }
  std::memcpy(bytes_.data(), handle.data(), handle.size());
}

std::size_t HandleBuffer::overrun() const {
  std::size_t end = bytes_.size();
  while (end > abi::kHandleBytes && bytes_[end - 1] == kFill) --end;
  return end - abi::kHandleBytes;
}

bool HandleBuffer::untouched() const {
  return std::all_of(bytes_.begin(), bytes_.end(), [](unsigned char one) { return one == kFill; });
}

const Properties& CaseRunner::properties() {
  if (!properties_) {
    properties_ = std::make_unique<Properties>();
    good("getProperties", net_.properties(device_, *properties_));
  }
  return *properties_;
}

void CaseRunner::step(std::string_view what) {
  const std::string text =
      what.empty() ? "" : fmt::format("{}: {}", sender_ ? "sender" : "receiver", what);
  const std::size_t length = std::min(text.size(), Steps::kLength - 1);
  std::memcpy(step_, text.data(), length);
  step_[length] = '\0';
}

void CaseRunner::warn(std::string what) {
  if (std::find(warnings_.begin(), warnings_.end(), what) == warnings_.end()) {
    warnings_.push_back(std::move(what));
  }
}

void CaseRunner::warn_of_size(std::string what) {
  warned_of_size_ = true;
  warn(std::move(what));
}

void CaseRunner::good(std::string_view call, abi::Result result) const {
  if (result == abi::kSuccess) return;
  throw Failed{fmt::format("{} returned {}", call, result_text(result))};
}

void CaseRunner::meet() {
  step("waiting for the other end");
  oob_.send("met");
  if (oob_.receive(deadline_) != "met") throw Failed{"the two ends are at different steps"};
  step("");
}

void CaseRunner::pause(std::string_view what) {
  sched_yield();
  if ((pauses_++ & 63U) != 63U) return;
  if (oob_.peer_ended()) throw PeerEnded{};
  if (deadline_.passed()) throw Failed{std::string(what)};
}

void* CaseRunner::listen(HandleBuffer& handle) {
  void* listening = nullptr;
  step("in listen()");
  good("listen", net_.listen(device_, handle.data(), &listening));
  if (listening == nullptr) throw Failed{"listen succeeded and gave no comm"};
  if (handle.overrun() > 0) {
    throw Failed{fmt::format("listen wrote a handle of {} bytes or more; the limit is {}",
                             abi::kHandleBytes + handle.overrun(), abi::kHandleBytes)};
  }
  return listening;
}

void* CaseRunner::accept(void* listening) {
  void* comm = nullptr;
  step("in accept()");
  while (comm == nullptr) {
    good("accept", net_.accept(listening, &comm));
    if (comm == nullptr) pause("accept gave no comm before the timeout of the case");
  }
  step("");
  return comm;
}

void* CaseRunner::connect(HandleBuffer& handle) {
  void* comm = nullptr;
  step("in connect()");
  while (comm == nullptr) {
    good("connect", net_.connect(device_, handle.data(), &comm));
    if (comm == nullptr) pause("connect gave no comm before the timeout of the case");
  }
  watch_handlers();  // a library may be loaded with the first connection
  step("");
  if (handle.overrun() > 0) throw Failed{"connect wrote beyond the 128 bytes of the handle"};
  return comm;
}

End CaseRunner::open(bool forward) {
  const auto handle = std::make_unique<HandleBuffer>();
  if (sender_ != forward) {
    void* const listening = listen(*handle);
    oob_.send(handle->text());
    void* const comm = accept(listening);
    good("closeListen", net_.close_listen(listening));
    return {comm, false};
  }
  handle->put(oob_.receive(deadline_));
  return {connect(*handle), true};
}

void CaseRunner::close(End end) {
  step(end.sends ? "in closeSend()" : "in closeRecv()");
  if (end.sends) {
    good("closeSend", net_.close_send(end.comm));
  } else {
    good("closeRecv", net_.close_receive(end.comm));
  }
  step("");
}

void CaseRunner::finish(End end) {
  meet();
  close(end);
}

Block CaseRunner::block(End end, std::size_t bytes) {
  Block block(bytes);
  step("in regMr()");
  good("regMr", net_.register_memory(end.comm, block.data(), block.bytes(), abi::kHostMemory,
                                     &block.registration));
  step("");
  return block;
}

void CaseRunner::release(End end, Block& block) {
  step("in deregMr()");
  good("deregMr", net_.deregister(end.comm, block.registration));
  step("");
}

void* CaseRunner::post(End end, std::span<const Message> group) {
  void* request = nullptr;
  if (end.sends) {
    good("isend", net_.send(end.comm, group[0], &request));
  } else {
    good("irecv", net_.receive(end.comm, group, &request));
  }
  return request;
}

bool CaseRunner::test(void* request, std::size_t count, std::vector<int>& sizes,
                      std::string_view what) {
  constexpr int kNone = -77;
  sizes.assign(std::max<std::size_t>(count, abi::kMaxRequests), kNone);
  int done = 0;
  const abi::Result result = net_.test(request, &done, sizes.data());
  if (result != abi::kSuccess) good(fmt::format("test of {}", what), result);
  if (done == 0) return false;
  sizes.resize(count);
  return true;
}

void* CaseRunner::post_one(End end, const Message& message, std::string_view late) {
  for (;;) {
    void* const request = post(end, {&message, 1});
    if (request != nullptr) return request;
    pause(late);
  }
}

void CaseRunner::await(void* request, std::string_view what, std::string_view late) {
  std::vector<int> sizes;
  while (!test(request, 1, sizes, what)) pause(late);
}

Sizes CaseRunner::run(End end, std::span<const std::vector<Message>> posts, int window,
                      std::span<void* const> early) {
  Sizes sizes(posts.size());
  std::vector<void*> requests(early.begin(), early.end());
  requests.resize(posts.size());
  std::vector<bool> done(posts.size(), false);
  std::size_t posted = early.size();
  std::size_t finished = 0;
  std::size_t oldest = 0;
  const char* const noun = end.sends ? "send" : "receive";
  while (finished < posts.size()) {
    if (posted < posts.size() && posted - finished < static_cast<std::size_t>(window)) {
      requests[posted] = post(end, posts[posted]);
      if (requests[posted] != nullptr) {
        ++posted;
        continue;
      }
    }
    const std::size_t before = finished;
    for (std::size_t i = oldest; i < posted; ++i) {
      if (done[i] || !test(requests[i], posts[i].size(), sizes[i], noun)) continue;
      done[i] = true;
      ++finished;
    }
    while (oldest < posted && done[oldest]) ++oldest;
    if (finished == before) {
      pause(
          fmt::format("{} of {} {}s were posted and {} are done: the rest is lost or makes no "
                      "progress",
                      posted, posts.size(), noun, finished));
    }
  }
  return sizes;
}

int CaseRunner::run_one(End end, const Message& message) {
  const std::vector<Message> post{message};
  return run(end, {&post, 1}).at(0).at(0);
}

void expect_size(CaseRunner& runner, int size, std::size_t wanted, std::string_view what) {
  if (size == static_cast<int>(wanted) || (runner.warned_of_size() && size > 0)) return;
  const std::string seen = fmt::format("test says {} bytes of {} of {}", size, what, wanted);
  // NCCL takes the sizes of received data alone, and asks only whether anything arrived: it decides
  // by that whether to flush.
  if (!runner.sender() && size <= 0) {
    throw Failed{seen + ": NCCL would not flush what arrived in GPU memory"};
  }
  runner.warn_of_size(
      seen + (runner.sender() ? " (NCCL does not read it)" : " (NCCL reads only whether it is 0)"));
}

void fill(std::byte* data, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(seed, i);
}

void expect(const std::byte* data, std::size_t bytes, std::uint64_t seed, std::string_view what,
            std::uint64_t seeds) {
  const std::size_t wrong = first_wrong(data, bytes, seed);
  if (wrong == bytes) return;
  for (std::uint64_t other = 0; other < seeds; ++other) {
    if (first_wrong(data, bytes, other) == bytes) {
      throw Failed{fmt::format("{} {} has the data of {}", what, seed, other)};
    }
  }
  throw Failed{fmt::format("{} {}: byte {} of {} is 0x{:02x} and should be 0x{:02x}", what, seed,
                           wrong, bytes, std::to_integer<unsigned>(data[wrong]),
                           std::to_integer<unsigned>(pattern(seed, wrong)))};
}

void move_one(CaseRunner& runner) {
  constexpr std::size_t kBytes = 4096;
  const End end = runner.open();
  Block block = runner.block(end, kBytes);
  fill(block.data(), kBytes, runner.sender() ? 5 : 6);
  runner.run_one(end, block.part(0, kBytes));
  if (!runner.sender()) expect(block.data(), kBytes, 5, "message");
  runner.release(end, block);
  runner.finish(end);
}

void expect_untouched(const std::byte* data, std::size_t bytes, std::byte value,
                      std::string_view what) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != value) {
      throw Failed{fmt::format("{}: byte {} behind the message was written", what, i)};
    }
  }
}

}  // namespace rdmabench::inline v1::netplugin

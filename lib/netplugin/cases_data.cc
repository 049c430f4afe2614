// Cases of messages on one connection, one at a time or in order.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "side.h"

namespace rdmabench::netplugin {
namespace {

constexpr std::byte kUntouched{0x5A};

void expect_size(int size, std::size_t wanted, std::string_view what) {
  if (size != static_cast<int>(wanted)) {
    throw Failed{fmt::format("test says {} bytes of {} of {} bytes", size, what, wanted)};
  }
}

/// A message of each size, one after the other; the receive has `spare` bytes more.
void move_alone(Side& side, std::span<const std::size_t> sizes, std::size_t spare) {
  const End end = side.open();
  Block block = side.block(end, *std::max_element(sizes.begin(), sizes.end()) + spare);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t bytes = sizes[i];
    side.step(fmt::format("moving a message of {} bytes", bytes));
    if (side.sender()) {
      fill(block.data(), bytes, i);
      expect_size(side.run_one(end, block.part(0, bytes)), bytes, "a send");
      continue;
    }
    std::memset(block.data(), std::to_integer<int>(kUntouched), block.bytes());
    expect_size(side.run_one(end, block.part(0, bytes + spare)), bytes, "a message");
    expect(block.data(), bytes, i, "message", sizes.size());
    expect_untouched(block.data() + bytes, block.bytes() - bytes, kUntouched,
                     fmt::format("message of {} bytes", bytes));
  }
  side.release(end, block);
  side.finish(end);
}

}  // namespace

namespace cases_of {

void message(Side& side) {
  constexpr std::size_t kSizes[] = {1, 7, 64, 1000, 4096, 65536, 100003, (8U << 20U) + 3};
  move_alone(side, kSizes, 0);
}

void larger_receive(Side& side) {
  constexpr std::size_t kSizes[] = {1, 100, 4096, 65535, 1, 300000, 64};
  move_alone(side, kSizes, 70000);
}

void zero_bytes(Side& side) {
  constexpr std::size_t kSizes[] = {0, 5, 0, 0, 4096, 0};
  move_alone(side, kSizes, 0);
  move_alone(side, kSizes, 64);
}

void order(Side& side) {
  constexpr std::size_t kCount = 200;
  constexpr std::size_t kRoom = 16384;
  const auto size = [](std::size_t i) { return 1 + i * 977 % kRoom; };
  const End end = side.open();
  Block block = side.block(end, kCount * kRoom);
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (side.sender()) fill(block.data() + i * kRoom, size(i), i);
    posts.push_back({block.part(i * kRoom, side.sender() ? size(i) : kRoom)});
  }
  side.step(fmt::format("moving {} messages, {} under way", kCount, abi::kMaxRequests));
  const Sizes sizes = side.run(end, posts);
  if (!side.sender()) {
    for (std::size_t i = 0; i < kCount; ++i) {
      // The content first: a size that is another message's is a matter of order.
      const auto bytes = static_cast<std::size_t>(std::max(sizes[i][0], 0));
      expect(block.data() + i * kRoom, std::min(bytes, size(i)), i, "receive", kCount);
      expect_size(sizes[i][0], size(i), fmt::format("message {}", i));
    }
  }
  side.release(end, block);
  side.finish(end);
}

void sizes_of_test(Side& side) {
  const End end = side.open();
  Block block = side.block(end, 8192);
  fill(block.data(), 8192, side.sender() ? 0 : 9);
  const std::size_t bytes = side.sender() ? 3000 : 8192;
  const Message one = block.part(0, bytes);
  expect_size(side.run_one(end, one), 3000, side.sender() ? "a send" : "a message");
  void* request = nullptr;
  while ((request = side.post(end, {&one, 1})) == nullptr) side.pause("it could not be posted");
  side.step("in test() with no place for sizes");
  for (int done = 0; done == 0;) {
    side.good("test", side.net().test(request, &done, nullptr));
    if (done == 0) side.pause("the message was not done in time");
  }
  if (!side.sender()) expect(block.data(), 3000, 0, "message");
  side.release(end, block);
  side.finish(end);
}

void late_receive(Side& side) {
  const End end = side.open();
  Block block = side.block(end, 1 << 16);
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < 16; ++i) {
    if (side.sender()) fill(block.data() + i * 4096, 4096, i);
    posts.push_back({block.part(i * 4096, 4096)});
  }
  side.step("in isend() before there is a receive");
  if (side.sender()) {
    // "Later" is an answer, an error is none.
    std::vector<void*> early;
    for (int tries = 0; tries < 1000 && early.size() < posts.size(); ++tries) {
      void* const request = side.post(end, posts[early.size()]);
      if (request != nullptr) early.push_back(request);
    }
    side.wire().send("tried");
    std::vector<int> sizes;
    for (void* const request : early) {
      while (!side.test(request, 1, sizes, "a send"))
        side.pause("an early send was not done in time");
    }
    side.run(end, std::span(posts).subspan(early.size()));
  } else {
    side.wire().receive(side.deadline());
    side.run(end, posts);
    for (std::size_t i = 0; i < posts.size(); ++i) {
      expect(block.data() + i * 4096, 4096, i, "receive", posts.size());
    }
  }
  side.release(end, block);
  side.finish(end);
}

void optional_completion(Side& side) {
  const End end = side.open();
  Block block = side.block(end, 4096);
  if (side.sender()) {
    fill(block.data(), 4096, 2);
    side.run_one(end, block.part(0, 4096));
  } else {
    const Message one = block.part(0, 4096);
    void* const hint = reinterpret_cast<void*>(abi::kOptionalCompletion);
    void* request = hint;
    side.step("in irecv() with NCCL_NET_OPTIONAL_RECV_COMPLETION");
    for (;;) {
      side.good("irecv", side.net().receive(end.comm, {&one, 1}, &request));
      if (request != nullptr) break;
      request = hint;
      side.pause("it could not be posted");
    }
    if (request == hint) throw Failed{"irecv left the hint in the request: test() would crash"};
    std::vector<int> sizes;
    while (!side.test(request, 1, sizes, "a receive"))
      side.pause("the receive was not done in time");
    // It may be done before its data: NCCL looks for those itself.
    for (;;) {
      try {
        expect(block.data(), 4096, 2, "message");
        break;
      } catch (const Failed& failed) {
        side.pause(failed.reason);
      }
    }
  }
  side.release(end, block);
  side.finish(end);
}

void larger_send(Side& side) {
  const End end = side.open();
  Block block = side.block(end, 1 << 20);
  std::memset(block.data(), std::to_integer<int>(kUntouched), block.bytes());
  const std::size_t room = 1024;
  const Message one = block.part(0, side.sender() ? block.bytes() : room);
  if (side.sender()) fill(block.data(), block.bytes(), 1);
  side.step("sending 1 MiB to a receive of 1024 bytes");
  const Deadline patience = Deadline::after(
      std::min<std::chrono::nanoseconds>(side.deadline().left() / 4, std::chrono::seconds(2)));
  std::string ending;
  void* request = nullptr;
  while (ending.empty() && !patience.passed()) {
    int done = 0;
    int sizes[abi::kMaxRequests] = {};
    const bool posting = request == nullptr;
    const abi::Result result = !posting        ? side.net().test(request, &done, sizes)
                               : side.sender() ? side.net().send(end.comm, one, &request)
                                               : side.net().receive(end.comm, {&one, 1}, &request);
    if (result != abi::kSuccess) ending = "error";
    if (done != 0) ending = "done";
  }
  side.wire().send(ending.empty() ? "nothing" : ending);
  const std::string other = side.wire().receive(side.deadline());
  if (ending.empty() && other == "nothing") {
    throw Failed{"neither end heard that the send was larger than the receive"};
  }
  if (!side.sender()) {
    expect_untouched(block.data() + room, block.bytes() - room, kUntouched,
                     "a receive of 1024 bytes");
    if (ending == "done" && other == "error") {
      throw Failed{"the receiver is told that it has the message, the sender that it was refused"};
    }
  }
  // After an error all that is left is to close.
  side.meet();
  static_cast<void>(end.sends ? side.net().close_send(end.comm)
                              : side.net().close_receive(end.comm));
}

void flush(Side& side) {
  const bool device = (side.properties().pointer_kinds & abi::kDeviceMemory) != 0;
  if (!side.net().has_flush()) throw Skipped{"the plugin has no iflush()"};
  const End end = side.open();
  Block block = side.block(end, 4096);
  side.run_one(end, block.part(0, 4096));
  std::string refused;
  if (!side.sender()) {
    side.step("in iflush()");
    void* request = nullptr;
    const abi::Result result = side.net().flush(end.comm, block.part(0, 4096), &request);
    if (result != abi::kSuccess && device) side.good("iflush", result);
    if (result != abi::kSuccess) refused = result_text(result);
    std::vector<int> sizes;
    while (refused.empty() && request != nullptr && !side.test(request, 1, sizes, "a flush")) {
      side.pause("the flush was not done in time");
    }
  }
  side.release(end, block);
  side.finish(end);
  if (!refused.empty()) {
    throw Skipped{
        fmt::format("iflush() returned {}; NCCL calls it for GPU memory alone, which "
                    "the plugin does not offer",
                    refused)};
  }
}

}  // namespace cases_of
}  // namespace rdmabench::netplugin

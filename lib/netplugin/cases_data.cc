// Cases of messages on one connection.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "case_runner.h"

namespace rdmabench::inline v1::netplugin {
namespace {

constexpr std::byte kUntouched{0x5A};

/// A message of each size, one after the other; the receive has `spare` bytes more.
void move_alone(CaseRunner& runner, std::span<const std::size_t> sizes, std::size_t spare) {
  const End end = runner.open();
  Block block = runner.block(end, *std::max_element(sizes.begin(), sizes.end()) + spare);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t bytes = sizes[i];
    runner.step(fmt::format("moving a message of {} bytes", bytes));
    if (runner.sender()) {
      fill(block.data(), bytes, i);
      expect_size(runner, runner.run_one(end, block.part(0, bytes)), bytes, "a send");
      continue;
    }
    std::memset(block.data(), std::to_integer<int>(kUntouched), block.bytes());
    const int said = runner.run_one(end, block.part(0, bytes + spare));
    expect_size(runner, said, bytes, "a message");
    expect(block.data(), bytes, i, "message", sizes.size());
    expect_untouched(block.data() + bytes, block.bytes() - bytes, kUntouched,
                     fmt::format("message of {} bytes", bytes));
  }
  runner.release(end, block);
  runner.finish(end);
}

}  // namespace

namespace cases_of {

void message(CaseRunner& runner) {
  constexpr std::size_t kSizes[] = {1, 7, 64, 1000, 4096, 65536, 100003, (8U << 20U) + 3};
  move_alone(runner, kSizes, 0);
}

void larger_receive(CaseRunner& runner) {
  constexpr std::size_t kSizes[] = {1, 100, 4096, 65535, 1, 300000, 64};
  move_alone(runner, kSizes, 70000);
}

void zero_bytes(CaseRunner& runner) {
  constexpr std::size_t kSizes[] = {0, 5, 0, 0, 4096, 0};
  move_alone(runner, kSizes, 0);
  move_alone(runner, kSizes, 64);
}

void order(CaseRunner& runner) {
  constexpr std::size_t kCount = 200;
  constexpr std::size_t kRoom = 16384;
  const auto size = [](std::size_t i) { return 1 + i * 977 % kRoom; };
  const End end = runner.open();
  Block block = runner.block(end, kCount * kRoom);
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (runner.sender()) fill(block.data() + i * kRoom, size(i), i);
    posts.push_back({block.part(i * kRoom, runner.sender() ? size(i) : kRoom)});
  }
  runner.step(fmt::format("moving {} messages, {} under way", kCount, abi::kMaxRequests));
  const Sizes sizes = runner.run(end, posts);
  if (!runner.sender()) {
    for (std::size_t i = 0; i < kCount; ++i) {
      // The content first: the size of another message is a fault of the order.
      const auto bytes = static_cast<std::size_t>(std::max(sizes[i][0], 0));
      expect(block.data() + i * kRoom, std::min(bytes, size(i)), i, "receive", kCount);
      expect(block.data() + i * kRoom, size(i), i, "receive", kCount);
      expect_size(runner, sizes[i][0], size(i), "a message");
    }
  }
  runner.release(end, block);
  runner.finish(end);
}

void sizes_of_test(CaseRunner& runner) {
  const End end = runner.open();
  Block block = runner.block(end, 8192);
  fill(block.data(), 8192, runner.sender() ? 0 : 9);
  const std::size_t bytes = runner.sender() ? 3000 : 8192;
  const Message one = block.part(0, bytes);
  expect_size(runner, runner.run_one(end, one), 3000, runner.sender() ? "a send" : "a message");
  void* const request = runner.post_one(end, one, "it could not be posted");
  runner.step("in test() with a null pointer for sizes");
  for (int done = 0; done == 0;) {
    runner.good("test", runner.net().test(request, &done, nullptr));
    if (done == 0) runner.pause("the message was not done before the timeout");
  }
  if (!runner.sender()) expect(block.data(), 3000, 0, "message");
  runner.release(end, block);
  runner.finish(end);
}

void late_receive(CaseRunner& runner) {
  const End end = runner.open();
  Block block = runner.block(end, 1 << 16);
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < 16; ++i) {
    if (runner.sender()) fill(block.data() + i * 4096, 4096, i);
    posts.push_back({block.part(i * 4096, 4096)});
  }
  runner.step("in isend() before a receive is posted");
  if (runner.sender()) {
    // A null request is allowed, an error is not.
    std::vector<void*> early;
    for (int tries = 0; tries < 1000 && early.size() < posts.size(); ++tries) {
      void* const request = runner.post(end, posts[early.size()]);
      if (request != nullptr) early.push_back(request);
    }
    runner.oob().send("tried");
    for (void* const request : early) {
      runner.await(request, "a send", "an early send was not done before the timeout");
    }
    runner.run(end, std::span(posts).subspan(early.size()));
  } else {
    runner.oob().receive(runner.deadline());
    runner.run(end, posts);
    for (std::size_t i = 0; i < posts.size(); ++i) {
      expect(block.data() + i * 4096, 4096, i, "receive", posts.size());
    }
  }
  runner.release(end, block);
  runner.finish(end);
}

void optional_completion(CaseRunner& runner) {
  if (runner.net().version() < 9) {
    throw Skipped{"NCCL does not pass the hint to a plugin of version 6 to 8"};
  }
  const End end = runner.open();
  Block block = runner.block(end, 4096);
  if (runner.sender()) {
    fill(block.data(), 4096, 2);
    runner.run_one(end, block.part(0, 4096));
  } else {
    const Message one = block.part(0, 4096);
    // NCCL, too, passes a number where a pointer goes.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    void* const hint = reinterpret_cast<void*>(abi::kOptionalCompletion);
    void* request = hint;
    runner.step("in irecv() with NCCL_NET_OPTIONAL_RECV_COMPLETION");
    for (;;) {
      runner.good("irecv", runner.net().receive(end.comm, {&one, 1}, &request));
      if (request != nullptr) break;
      request = hint;
      runner.pause("it could not be posted");
    }
    if (request == hint)
      throw Failed{"irecv did not replace the hint in the request: test() would crash"};
    runner.await(request, "a receive", "the receive was not done before the timeout");
    // It may be done before the data arrive: NCCL checks the data itself.
    for (;;) {
      try {
        expect(block.data(), 4096, 2, "message");
        break;
      } catch (const Failed& failed) {
        runner.pause(failed.reason);
      }
    }
  }
  runner.release(end, block);
  runner.finish(end);
}

void larger_send(CaseRunner& runner) {
  const End end = runner.open();
  Block block = runner.block(end, 1 << 20);
  std::memset(block.data(), std::to_integer<int>(kUntouched), block.bytes());
  const std::size_t room = 1024;
  const Message one = block.part(0, runner.sender() ? block.bytes() : room);
  if (runner.sender()) fill(block.data(), block.bytes(), 1);
  runner.step("sending 1 MiB to a receive of 1024 bytes");
  const Deadline patience = Deadline::after(
      std::min<std::chrono::nanoseconds>(runner.deadline().left() / 4, std::chrono::seconds(2)));
  std::string ending;
  void* request = nullptr;
  while (ending.empty() && !patience.passed()) {
    int done = 0;
    int sizes[abi::kMaxRequests] = {};
    const bool posting = request == nullptr;
    const abi::Result result = !posting ? runner.net().test(request, &done, sizes)
                               : runner.sender()
                                   ? runner.net().send(end.comm, one, &request)
                                   : runner.net().receive(end.comm, {&one, 1}, &request);
    if (result != abi::kSuccess) ending = "error";
    if (done != 0) ending = "done";
  }
  runner.oob().send(ending.empty() ? "nothing" : ending);
  const std::string other = runner.oob().receive(runner.deadline());
  if (ending.empty() && other == "nothing") {
    runner.warn(
        "neither end was told that the send was larger than the receive (ranks of NCCL that agree "
        "on the count do not send more; ranks that do not would wait forever)");
  }
  if (!runner.sender()) {
    expect_untouched(block.data() + room, block.bytes() - room, kUntouched,
                     "a receive of 1024 bytes");
    if (ending == "done" && other == "error") {
      runner.warn(
          "the receiver is told that the message arrived, the sender that it was refused (ranks of "
          "NCCL that agree on the count do not send more)");
    }
  }
  // After an error the comm can only be closed.
  runner.meet();
  static_cast<void>(runner.net().deregister(end.comm, block.registration));
  static_cast<void>(end.sends ? runner.net().close_send(end.comm)
                              : runner.net().close_receive(end.comm));
}

void flush(CaseRunner& runner) {
  const bool device = (runner.properties().pointer_kinds & abi::kDeviceMemory) != 0;
  if (!runner.net().has_flush()) {
    if (!device) throw Skipped{"the plugin has no iflush(), and offers no GPU memory"};
    throw Failed{
        "the plugin offers GPU memory and has no iflush(): NCCL would call it, for GPUs before "
        "Hopper and with NCCL_NET_FORCE_FLUSH"};
  }
  const End end = runner.open();
  Block block = runner.block(end, 4096);
  runner.run_one(end, block.part(0, 4096));
  std::string refused;
  if (!runner.sender()) {
    runner.step("in iflush()");
    void* request = nullptr;
    const abi::Result result = runner.net().flush(end.comm, block.part(0, 4096), &request);
    if (result != abi::kSuccess && device) runner.good("iflush", result);
    if (result != abi::kSuccess) refused = result_text(result);
    if (refused.empty() && request != nullptr) {
      runner.await(request, "a flush", "the flush was not done before the timeout");
    }
  }
  runner.release(end, block);
  runner.finish(end);
  if (!refused.empty()) {
    throw Skipped{
        fmt::format("iflush() returned {}; NCCL calls it only for GPU memory, which the "
                    "plugin does not offer",
                    refused)};
  }
}

}  // namespace cases_of
}  // namespace rdmabench::inline v1::netplugin

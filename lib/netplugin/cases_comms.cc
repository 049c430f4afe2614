// Cases of several connections and of closing.
#include <fmt/format.h>

#include <array>
#include <exception>
#include <mutex>
#include <thread>

#include "case_runner.h"

namespace rdmabench::inline v1::netplugin {
namespace {

constexpr std::size_t kCommRoom = 4096;
constexpr std::string_view kNotPosted = "the receive could not be posted before the timeout";

/// Moves `count` messages on one comm. `seed` differs from that of other comms.
void move_on(CaseRunner& runner, End end, Block& block, std::size_t count, std::uint64_t seed,
             int window) {
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < count; ++i) {
    if (end.sends) fill(block.data() + i * kCommRoom, kCommRoom, seed + i);
    posts.push_back({block.part(i * kCommRoom, kCommRoom)});
  }
  runner.run(end, posts, window);
  for (std::size_t i = 0; !end.sends && i < count; ++i) {
    expect(block.data() + i * kCommRoom, kCommRoom, seed + i, "message");
  }
}

/// One more connection and a message, to see that the plugin still works.
void still_works(CaseRunner& runner) {
  runner.step("connecting again");
  move_one(runner);
}

constexpr auto kMoment = std::chrono::milliseconds(300);

}  // namespace

namespace cases_of {

void both_ways(CaseRunner& runner) {
  HandleBuffer own;
  HandleBuffer peer;
  void* const listening = runner.listen(own);
  runner.oob().send(own.text());
  peer.put(runner.oob().receive(runner.deadline()));
  End out{nullptr, true};
  End in{nullptr, false};
  runner.step("in connect() and accept() by turns");
  while (out.comm == nullptr || in.comm == nullptr) {
    if (out.comm == nullptr) {
      runner.good("connect", runner.net().connect(runner.device(), peer.data(), &out.comm));
    }
    if (in.comm == nullptr) runner.good("accept", runner.net().accept(listening, &in.comm));
    runner.pause("connect and accept by turns make no connection");
  }
  runner.good("closeListen", runner.net().close_listen(listening));
  constexpr std::size_t kCount = 8;
  Block sent = runner.block(out, kCount * kCommRoom);
  Block got = runner.block(in, kCount * kCommRoom);
  const std::uint64_t seed = runner.sender() ? 0 : 100;
  std::vector<void*> requests;
  std::size_t left = 2 * kCount;
  const auto test_all = [&] {
    for (void*& request : requests) {
      std::vector<int> sizes;
      if (request == nullptr || !runner.test(request, 1, sizes, "a request")) continue;
      request = nullptr;
      --left;
    }
    runner.pause("not all messages of both directions arrive");
  };
  runner.step("posting both ways");
  for (std::size_t i = 0; i < 2 * kCount; ++i) {
    const bool receive = i < kCount;
    const std::size_t at = i % kCount * kCommRoom;
    if (!receive) fill(sent.data() + at, kCommRoom, seed + i % kCount);
    const Message one = (receive ? got : sent).part(at, kCommRoom);
    void* request = nullptr;
    while ((request = runner.post(receive ? in : out, {&one, 1})) == nullptr) test_all();
    requests.push_back(request);
  }
  while (left > 0) test_all();
  for (std::size_t i = 0; i < kCount; ++i) {
    expect(got.data() + i * kCommRoom, kCommRoom, (runner.sender() ? 100 : 0) + i, "message");
  }
  runner.release(out, sent);
  runner.release(in, got);
  runner.finish(out);
  runner.close(in);
}

void independence(CaseRunner& runner) {
  std::array<End, 3> ends{};
  for (End& end : ends) end = runner.open();
  std::vector<Block> blocks;
  blocks.reserve(ends.size());
  for (const End& end : ends) blocks.push_back(runner.block(end, 32 * kCommRoom));
  // The first connection has receives without sends, the third sends without receives.
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < 4; ++i) {
    posts.push_back({blocks[2].part(i * kCommRoom, kCommRoom)});
    if (runner.sender()) fill(blocks[2].data() + i * kCommRoom, kCommRoom, 200 + i);
  }
  std::vector<void*> early;
  void* waiting = nullptr;
  if (runner.sender()) {
    for (int tries = 0; tries < 100 && early.size() < posts.size(); ++tries) {
      void* const request = runner.post(ends[2], posts[early.size()]);
      if (request != nullptr) early.push_back(request);
    }
  } else {
    waiting = runner.post_one(ends[0], blocks[0].part(0, kCommRoom), kNotPosted);
  }
  runner.step("moving messages beside idle connections");
  move_on(runner, ends[1], blocks[1], 32, 300, 8);
  runner.meet();
  if (runner.sender()) {
    move_on(runner, ends[0], blocks[0], 1, 100, 1);
    for (void* const request : early) {
      runner.await(request, "a send", "an early send was not done before the timeout");
    }
    runner.run(ends[2], std::span(posts).subspan(early.size()));
  } else {
    runner.await(waiting, "a receive", "the first message was not done before the timeout");
    expect(blocks[0].data(), kCommRoom, 100, "message");
    move_on(runner, ends[2], blocks[2], 4, 200, 4);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) runner.release(ends[i], blocks[i]);
  for (const End& end : ends) runner.finish(end);
}

void threads(CaseRunner& runner) {
  constexpr std::size_t kThreads = 4;
  std::vector<End> ends;
  std::vector<Block> blocks;
  for (std::size_t t = 0; t < kThreads; ++t) {
    ends.push_back(runner.open());
    blocks.push_back(runner.block(ends[t], 50 * kCommRoom));
  }
  runner.step("moving messages in four threads");
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::jthread> threads;  // joined also where one of them cannot start
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      try {
        for (std::uint64_t round = 0; round < 4; ++round) {
          move_on(runner, ends[t], blocks[t], 50, 1000 * t + 100 * round, 8);
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  threads.clear();
  if (first) std::rethrow_exception(first);
  for (std::size_t t = 0; t < kThreads; ++t) {
    runner.release(ends[t], blocks[t]);
    runner.finish(ends[t]);
  }
}

/// NCCL, too, deregisters the memory of a comm before it closes it, whatever is under way.
void close_busy_send(CaseRunner& runner) {
  constexpr std::size_t kCount = 8;
  constexpr std::size_t kBytes = 1 << 20;
  const End end = runner.open();
  Block block = runner.block(end, kCount * kBytes);
  std::vector<void*> requests;
  const auto post_some = [&] {
    const Deadline moment = Deadline::after(kMoment);
    while (requests.size() < kCount && !moment.passed()) {
      const Message one = block.part(requests.size() * kBytes, kBytes);
      void* const request = runner.post(end, {&one, 1});
      if (request != nullptr) requests.push_back(request);
    }
    // A plugin may announce receives only in test().
    while (!runner.sender() && !moment.passed()) {
      std::vector<int> sizes;
      for (void* const request : requests) runner.test(request, 1, sizes, "a receive");
    }
  };
  if (runner.sender()) fill(block.data(), block.bytes(), 1);
  // Receives are posted and not tested, so that not all sends can be done.
  if (!runner.sender()) post_some();
  runner.meet();
  if (runner.sender()) {
    post_some();
    runner.release(end, block);
    runner.step(fmt::format("in closeSend() with {} sends under way", requests.size()));
    runner.good("closeSend", runner.net().close_send(end.comm));
    runner.step("after closeSend()");
    runner.meet();
  } else {
    runner.meet();
    runner.step("in test() after the sender has closed");
    const Deadline moment = Deadline::after(kMoment);
    while (!moment.passed()) {
      for (void*& request : requests) {
        int done = 0;
        int sizes[abi::kMaxRequests] = {};
        if (request == nullptr) continue;
        // Both an error and a request that is never done are allowed.
        if (runner.net().test(request, &done, sizes) != abi::kSuccess || done != 0)
          request = nullptr;
      }
    }
    runner.release(end, block);
    runner.step("in closeRecv() after the sender has closed");
    runner.good("closeRecv", runner.net().close_receive(end.comm));
  }
  still_works(runner);
}

void close_busy_receive(CaseRunner& runner) {
  const End end = runner.open();
  Block block = runner.block(end, 8 * kCommRoom);
  if (runner.sender()) {
    runner.meet();
    runner.meet();
    // The receiver is gone: an error, a null request and a request that is never done are allowed.
    runner.step("in isend() after the receiver has closed");
    const Message one = block.part(0, kCommRoom);
    void* request = nullptr;
    const Deadline moment = Deadline::after(kMoment);
    bool failed = runner.net().send(end.comm, one, &request) != abi::kSuccess;
    while (!failed && request != nullptr && !moment.passed()) {
      int done = 0;
      int sizes[abi::kMaxRequests] = {};
      failed = runner.net().test(request, &done, sizes) != abi::kSuccess || done != 0;
    }
    runner.release(end, block);
    runner.step("in closeSend() after the receiver has closed");
    runner.good("closeSend", runner.net().close_send(end.comm));
  } else {
    std::size_t posted = 0;
    const Deadline moment = Deadline::after(kMoment);
    while (posted < 8 && !moment.passed()) {
      const Message one = block.part(posted * kCommRoom, kCommRoom);
      if (runner.post(end, {&one, 1}) != nullptr) ++posted;
    }
    runner.meet();
    runner.release(end, block);
    runner.step(fmt::format("in closeRecv() with {} receives under way", posted));
    runner.good("closeRecv", runner.net().close_receive(end.comm));
    runner.step("after closeRecv()");
    runner.meet();
  }
  still_works(runner);
}

void peer_leaves(CaseRunner& runner) {
  const End end = runner.open();
  Block block = runner.block(end, 4 * kCommRoom);
  if (runner.sender()) {
    move_on(runner, end, block, 1, 40, 1);
    runner.meet();
    runner.release(end, block);
    runner.close(end);
    runner.meet();
    runner.meet();
    return;
  }
  std::vector<void*> requests;
  while (requests.size() < 4) {
    requests.push_back(
        runner.post_one(end, block.part(requests.size() * kCommRoom, kCommRoom), kNotPosted));
  }
  runner.await(requests[0], "a receive", "the message was not done before the timeout");
  expect(block.data(), kCommRoom, 40, "message");
  runner.meet();
  runner.meet();
  runner.step("in test() after the sender has closed");
  const Deadline moment = Deadline::after(kMoment);
  std::vector<bool> ended(4, false);
  while (!moment.passed()) {
    for (std::size_t i = 1; i < requests.size(); ++i) {
      if (ended[i]) continue;
      int done = 0;
      int bytes[abi::kMaxRequests] = {};
      const abi::Result result = runner.net().test(requests[i], &done, bytes);
      if (result == abi::kSuccess && done != 0) {
        throw Failed{fmt::format("receive {} is reported done with {} bytes, but nothing was sent",
                                 i, bytes[0])};
      }
      ended[i] = result != abi::kSuccess;
    }
  }
  runner.release(end, block);
  runner.close(end);
  runner.meet();
}

}  // namespace cases_of
}  // namespace rdmabench::inline v1::netplugin

// Cases of several connections, and of their end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "side.h"

namespace rdmabench::netplugin {
namespace {

constexpr std::size_t kCommRoom = 4096;

/// `count` messages of one comm, told apart from those of others by `seed`.
void move_on(Side& side, End end, Block& block, std::size_t count, std::uint64_t seed, int window) {
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < count; ++i) {
    if (end.sends) fill(block.data() + i * kCommRoom, kCommRoom, seed + i);
    posts.push_back({block.part(i * kCommRoom, kCommRoom)});
  }
  side.run(end, posts, window);
  for (std::size_t i = 0; !end.sends && i < count; ++i) {
    expect(block.data() + i * kCommRoom, kCommRoom, seed + i, "message");
  }
}

/// After what may have broken the plugin: one more connection and a message.
void still_works(Side& side) {
  side.step("connecting again");
  const End end = side.open();
  Block block = side.block(end, kCommRoom);
  move_on(side, end, block, 1, 77, 1);
  side.release(end, block);
  side.finish(end);
}

constexpr auto kMoment = std::chrono::milliseconds(300);

}  // namespace

namespace cases_of {

void both_ways(Side& side) {
  HandleRoom own;
  HandleRoom peer;
  void* const listening = side.listen(own);
  side.wire().send(own.text());
  peer.put(side.wire().receive(side.deadline()));
  End out{nullptr, true};
  End in{nullptr, false};
  side.step("in connect() and accept() by turns");
  while (out.comm == nullptr || in.comm == nullptr) {
    if (out.comm == nullptr) {
      side.good("connect", side.net().connect(side.device(), peer.data(), &out.comm));
    }
    if (in.comm == nullptr) side.good("accept", side.net().accept(listening, &in.comm));
    side.pause("connect and accept by turns come to no end");
  }
  side.good("closeListen", side.net().close_listen(listening));
  constexpr std::size_t kCount = 8;
  Block sent = side.block(out, kCount * kCommRoom);
  Block got = side.block(in, kCount * kCommRoom);
  const std::uint64_t seed = side.sender() ? 0 : 100;
  std::vector<void*> requests;
  std::size_t left = 2 * kCount;
  const auto test_all = [&] {
    for (void*& request : requests) {
      std::vector<int> sizes;
      if (request == nullptr || !side.test(request, 1, sizes, "a request")) continue;
      request = nullptr;
      --left;
    }
    side.pause("not all messages of both ways arrive");
  };
  side.step("posting both ways");
  for (std::size_t i = 0; i < 2 * kCount; ++i) {
    const bool receive = i < kCount;
    const std::size_t at = i % kCount * kCommRoom;
    if (!receive) fill(sent.data() + at, kCommRoom, seed + i % kCount);
    const Message one = (receive ? got : sent).part(at, kCommRoom);
    void* request = nullptr;
    while ((request = side.post(receive ? in : out, {&one, 1})) == nullptr) test_all();
    requests.push_back(request);
  }
  while (left > 0) test_all();
  for (std::size_t i = 0; i < kCount; ++i) {
    expect(got.data() + i * kCommRoom, kCommRoom, (side.sender() ? 100 : 0) + i, "message");
  }
  side.release(out, sent);
  side.release(in, got);
  side.finish(out);
  side.close(in);
}

void independence(Side& side) {
  std::array<End, 3> ends{};
  for (End& end : ends) end = side.open();
  std::vector<Block> blocks;
  for (const End& end : ends) blocks.push_back(side.block(end, 32 * kCommRoom));
  // The first has receives for which nothing comes yet, the third sends that nobody takes yet.
  std::vector<std::vector<Message>> posts;
  for (std::size_t i = 0; i < 4; ++i) {
    posts.push_back({blocks[2].part(i * kCommRoom, kCommRoom)});
    if (side.sender()) fill(blocks[2].data() + i * kCommRoom, kCommRoom, 200 + i);
  }
  std::vector<void*> early;
  const Message first = blocks[0].part(0, kCommRoom);
  void* waiting = nullptr;
  if (side.sender()) {
    for (int tries = 0; tries < 100 && early.size() < posts.size(); ++tries) {
      void* const request = side.post(ends[2], posts[early.size()]);
      if (request != nullptr) early.push_back(request);
    }
  } else {
    while ((waiting = side.post(ends[0], {&first, 1})) == nullptr)
      side.pause("it could not be posted");
  }
  side.step("moving messages beside a connection that stands still");
  move_on(side, ends[1], blocks[1], 32, 300, 8);
  side.meet();
  std::vector<int> sizes;
  if (side.sender()) {
    move_on(side, ends[0], blocks[0], 1, 100, 1);
    for (void* const request : early) {
      while (!side.test(request, 1, sizes, "a send"))
        side.pause("an early send was not done in time");
    }
    side.run(ends[2], std::span(posts).subspan(early.size()));
  } else {
    while (!side.test(waiting, 1, sizes, "a receive")) side.pause("the first message was not done");
    expect(blocks[0].data(), kCommRoom, 100, "message");
    move_on(side, ends[2], blocks[2], 4, 200, 4);
  }
  for (std::size_t i = 0; i < ends.size(); ++i) side.release(ends[i], blocks[i]);
  for (const End& end : ends) side.finish(end);
}

void threads(Side& side) {
  constexpr std::size_t kThreads = 4;
  std::vector<End> ends;
  std::vector<Block> blocks;
  for (std::size_t t = 0; t < kThreads; ++t) {
    ends.push_back(side.open());
    blocks.push_back(side.block(ends[t], 50 * kCommRoom));
  }
  side.step("moving messages in four threads");
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      try {
        for (std::uint64_t round = 0; round < 4; ++round) {
          move_on(side, ends[t], blocks[t], 50, 1000 * t + 100 * round, 8);
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
  for (std::size_t t = 0; t < kThreads; ++t) {
    side.release(ends[t], blocks[t]);
    side.finish(ends[t]);
  }
}

void close_busy_send(Side& side) {
  constexpr std::size_t kCount = 8;
  constexpr std::size_t kBytes = 1 << 20;
  const End end = side.open();
  Block block = side.block(end, kCount * kBytes);
  std::vector<void*> requests;
  const auto post_some = [&] {
    const Deadline moment = Deadline::after(kMoment);
    while (requests.size() < kCount && !moment.passed()) {
      const Message one = block.part(requests.size() * kBytes, kBytes);
      void* const request = side.post(end, {&one, 1});
      if (request != nullptr) requests.push_back(request);
    }
    // Plugins may need that to let the other end know.
    while (!side.sender() && !moment.passed()) {
      std::vector<int> sizes;
      for (void* const request : requests) side.test(request, 1, sizes, "a receive");
    }
  };
  if (side.sender()) fill(block.data(), block.bytes(), 1);
  // Receives are there and nobody moves them, so that the sends cannot all be done.
  if (!side.sender()) post_some();
  side.meet();
  if (side.sender()) {
    post_some();
    side.step(fmt::format("in closeSend() with {} sends under way", requests.size()));
    side.good("closeSend", side.net().close_send(end.comm));
    side.step("after closeSend()");
    side.meet();
  } else {
    side.meet();
    side.step("in test() after the sender has closed");
    const Deadline moment = Deadline::after(kMoment);
    while (!moment.passed()) {
      for (void*& request : requests) {
        int done = 0;
        int sizes[abi::kMaxRequests] = {};
        if (request == nullptr) continue;
        // An error is as good as silence.
        if (side.net().test(request, &done, sizes) != abi::kSuccess || done != 0) request = nullptr;
      }
    }
    side.step("in closeRecv() after the sender has closed");
    side.good("closeRecv", side.net().close_receive(end.comm));
  }
  still_works(side);
}

void close_busy_receive(Side& side) {
  const End end = side.open();
  Block block = side.block(end, 8 * kCommRoom);
  if (side.sender()) {
    side.meet();
    side.meet();
    // Nobody is there: an error, "later" and silence are all good answers.
    side.step("in isend() after the receiver has closed");
    const Message one = block.part(0, kCommRoom);
    void* request = nullptr;
    const Deadline moment = Deadline::after(kMoment);
    bool failed = side.net().send(end.comm, one, &request) != abi::kSuccess;
    while (!failed && request != nullptr && !moment.passed()) {
      int done = 0;
      int sizes[abi::kMaxRequests] = {};
      failed = side.net().test(request, &done, sizes) != abi::kSuccess || done != 0;
    }
    side.step("in closeSend() after the receiver has closed");
    side.good("closeSend", side.net().close_send(end.comm));
  } else {
    std::size_t posted = 0;
    const Deadline moment = Deadline::after(kMoment);
    while (posted < 8 && !moment.passed()) {
      const Message one = block.part(posted * kCommRoom, kCommRoom);
      if (side.post(end, {&one, 1}) != nullptr) ++posted;
    }
    side.meet();
    side.step(fmt::format("in closeRecv() with {} receives under way", posted));
    side.good("closeRecv", side.net().close_receive(end.comm));
    side.step("after closeRecv()");
    side.meet();
  }
  still_works(side);
}

void peer_leaves(Side& side) {
  const End end = side.open();
  Block block = side.block(end, 4 * kCommRoom);
  if (side.sender()) {
    move_on(side, end, block, 1, 40, 1);
    side.meet();
    side.release(end, block);
    side.close(end);
    side.meet();
    side.meet();
    return;
  }
  std::vector<void*> requests;
  while (requests.size() < 4) {
    const Message one = block.part(requests.size() * kCommRoom, kCommRoom);
    void* const request = side.post(end, {&one, 1});
    if (request == nullptr) {
      side.pause("it could not be posted");
    } else {
      requests.push_back(request);
    }
  }
  std::vector<int> sizes;
  while (!side.test(requests[0], 1, sizes, "a receive"))
    side.pause("the message was not done in time");
  expect(block.data(), kCommRoom, 40, "message");
  side.meet();
  side.meet();
  side.step("in test() after the sender has closed");
  const Deadline moment = Deadline::after(kMoment);
  std::vector<bool> ended(4, false);
  while (!moment.passed()) {
    for (std::size_t i = 1; i < requests.size(); ++i) {
      if (ended[i]) continue;
      int done = 0;
      int bytes[abi::kMaxRequests] = {};
      const abi::Result result = side.net().test(requests[i], &done, bytes);
      if (result == abi::kSuccess && done != 0) {
        throw Failed{fmt::format("receive {} is reported done with {} bytes, and nothing was sent",
                                 i, bytes[0])};
      }
      ended[i] = result != abi::kSuccess;
    }
  }
  side.close(end);
  side.meet();
}

}  // namespace cases_of
}  // namespace rdmabench::netplugin

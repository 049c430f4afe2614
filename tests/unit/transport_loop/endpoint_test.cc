#include "rdmabench/transport/loop/endpoint.h"

#include <gtest/gtest.h>

#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/memory/pattern.h"
#include "rdmabench/transport/loop/backend.h"

namespace rdmabench::transport::loop {
namespace {

constexpr std::uint64_t kSize = 100;

EndpointRequest request() {
  EndpointRequest r;
  r.max_size = kSize;
  r.depth = 4;
  r.signal_every = 1;
  r.receives = 2;
  r.send_slots = 2;
  r.receive_slots = 2;
  return r;
}

struct Pair {
  Endpoint a{request(), ""};
  Endpoint b{request(), ""};

  explicit Pair(OperationCode code) {
    a.connect(b.address());
    b.connect(a.address());
    a.prepare(code, kSize);
    b.prepare(code, kSize);
  }
};

std::span<std::byte> slot(const Region& region, std::uint32_t index) {
  return {region.data + index * region.stride, kSize};
}

std::vector<Received> drain(Endpoint& endpoint) {
  std::vector<Received> all;
  endpoint.poll([&](const Received& received) noexcept { all.push_back(received); });
  return all;
}

TEST(LoopEndpoint, SendFillsTheReceivesInOrder) {
  Pair pair(OperationCode::send);
  for (std::uint8_t tag = 1; tag <= 2; ++tag) {
    memory::fill_pattern(slot(pair.a.send_region(), 0), tag);
    ASSERT_EQ(pair.a.post<Send>(0, 0, Signal::now), PostStatus::posted);
  }
  const auto received = drain(pair.b);
  ASSERT_EQ(received.size(), 2U);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(received[i].slot, i);
    EXPECT_EQ(received[i].bytes, kSize);
    EXPECT_EQ(
        memory::find_mismatch(slot(pair.b.receive_region(), i), static_cast<std::uint8_t>(i + 1)),
        std::nullopt);
  }
}

TEST(LoopEndpoint, SendWithoutAPostedReceiveIsBusy) {
  Pair pair(OperationCode::send);
  EXPECT_EQ(pair.a.post<Send>(0, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(pair.a.post<Send>(0, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(pair.a.post<Send>(0, 0, Signal::now), PostStatus::busy);
  EXPECT_EQ(pair.a.post_token(Signal::now), PostStatus::busy);
  for (const Received& received : drain(pair.b)) pair.b.post_receive(received.slot);
  EXPECT_EQ(pair.a.post<Send>(0, 0, Signal::now), PostStatus::posted);
}

TEST(LoopEndpoint, WriteLandsAtTheSameOffsetOfTheWindow) {
  Pair pair(OperationCode::write);
  const std::uint64_t stride = pair.a.send_region().stride;
  memory::fill_pattern(slot(pair.a.send_region(), 1), 9);
  ASSERT_EQ(pair.a.post<Write>(stride, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(memory::find_mismatch(slot(pair.b.window(), 1), 9), std::nullopt);
  EXPECT_TRUE(drain(pair.b).empty());
}

TEST(LoopEndpoint, WriteWithImmediateTellsTheTarget) {
  Pair pair(OperationCode::write_imm);
  memory::fill_pattern(slot(pair.a.send_region(), 0), 5);
  ASSERT_EQ(pair.a.post<WriteImm>(0, 0xfeedbeef, Signal::now), PostStatus::posted);
  const auto received = drain(pair.b);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].immediate, 0xfeedbeefU);
  EXPECT_EQ(memory::find_mismatch(slot(pair.b.window(), 0), 5), std::nullopt);
}

TEST(LoopEndpoint, ReadFetchesThePeersWindow) {
  Pair pair(OperationCode::read);
  memory::fill_pattern(slot(pair.b.window(), 1), 77);
  ASSERT_EQ(pair.a.post<Read>(pair.a.send_region().stride, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(memory::find_mismatch(slot(pair.a.send_region(), 1), 77), std::nullopt);
}

TEST(LoopEndpoint, RefusesMoreThanItsDepthUntilPolled) {
  Pair pair(OperationCode::write);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(pair.a.post<Write>(0, 0, Signal::by_interval), PostStatus::posted);
  }
  EXPECT_EQ(pair.a.post<Write>(0, 0, Signal::by_interval), PostStatus::busy);
  drain(pair.a);
  EXPECT_EQ(pair.a.completed(), 4U);
  EXPECT_EQ(pair.a.post<Write>(0, 0, Signal::by_interval), PostStatus::posted);
}

TEST(LoopEndpoint, CompletesAtItsIntervalAndWhenAsked) {
  EndpointRequest every_third = request();
  every_third.signal_every = 3;
  Endpoint a(every_third, "");
  Endpoint b(every_third, "");
  a.connect(b.address());
  a.prepare(OperationCode::write, kSize);
  const auto completed_after = [&](Signal signal) {
    EXPECT_EQ(a.post<Write>(0, 0, signal), PostStatus::posted);
    drain(a);
    return a.completed();
  };
  EXPECT_EQ(completed_after(Signal::by_interval), 0U);
  EXPECT_EQ(completed_after(Signal::by_interval), 0U);
  EXPECT_EQ(completed_after(Signal::by_interval), 3U);
  EXPECT_EQ(completed_after(Signal::by_interval), 3U);
  EXPECT_EQ(completed_after(Signal::now), 5U);
}

TEST(LoopEndpoint, PeerMayGoFirst) {
  Endpoint survivor(request(), "");
  {
    Endpoint other(request(), "");
    survivor.connect(other.address());
    survivor.prepare(OperationCode::write, kSize);
  }
  EXPECT_EQ(survivor.post<Write>(0, 0, Signal::now), PostStatus::posted);
}

TEST(LoopEndpoint, RefusesAnAddressItDoesNotKnow) {
  Endpoint endpoint(request(), "");
  EXPECT_THROW(endpoint.connect("loop-999999"), Error);
  EXPECT_THROW(endpoint.prepare(OperationCode::send, kSize + 1), Error);
}

TEST(LoopBackend, RefusesAnotherProcess) {
  const EndpointRequest r = request();
  EXPECT_NO_THROW(choose(r, offer(r), offer(r)));
  EXPECT_THROW(choose(r, offer(r), "1-00000000"), Error);
}

}  // namespace
}  // namespace rdmabench::transport::loop

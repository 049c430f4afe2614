#include "rdmabench/transport/loop/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../complaint.h"
#include "../regions.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "transport/loop/backend.h"

namespace rdmabench::inline v1::transport::loop {
namespace {

constexpr std::uint64_t kSize = 100;

EndpointRequest request() {
  EndpointRequest r;
  r.operations = {OperationCode::send, OperationCode::write, OperationCode::write_imm,
                  OperationCode::read, OperationCode::send_imm};
  r.max_size = kSize;
  r.depth = 4;
  r.signal_every = 1;
  r.receives = 2;
  r.send_slots = 2;
  r.receive_slots = 2;
  return r;
}

struct Pair {
  Endpoint a;
  Endpoint b;

  explicit Pair(const EndpointRequest& r = request()) : a(r, ""), b(r, "") {
    a.connect(b.address());
    b.connect(a.address());
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
  Pair pair;
  for (std::uint8_t tag = 1; tag <= 2; ++tag) {
    memory::fill_pattern(slot(pair.a.send_region(), 0), tag);
    ASSERT_EQ(pair.a.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
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
  Pair pair;
  EXPECT_EQ(pair.a.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(pair.a.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(pair.a.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::busy);
  EXPECT_EQ(pair.a.post<Send>(0, 0, 0, 0, Signal::now), PostStatus::busy);
  for (const Received& received : drain(pair.b)) pair.b.post_receive(received.slot);
  EXPECT_EQ(pair.a.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
}

TEST(LoopEndpoint, WriteLandsAtTheSameOffsetOfTheWindow) {
  Pair pair;
  const std::uint64_t stride = pair.a.send_region().stride;
  memory::fill_pattern(slot(pair.a.send_region(), 1), 9);
  ASSERT_EQ(pair.a.post<Write>(stride, stride, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(memory::find_mismatch(slot(pair.b.window(), 1), 9), std::nullopt);
  EXPECT_TRUE(drain(pair.b).empty());
}

TEST(LoopEndpoint, WriteWithImmediateTellsTheTarget) {
  Pair pair;
  memory::fill_pattern(slot(pair.a.send_region(), 0), 5);
  ASSERT_EQ(pair.a.post<WriteImm>(0, 0, kSize, 0xfeedbeef, Signal::now), PostStatus::posted);
  const auto received = drain(pair.b);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].immediate, 0xfeedbeefU);
  EXPECT_EQ(memory::find_mismatch(slot(pair.b.window(), 0), 5), std::nullopt);
}

TEST(LoopEndpoint, ReadFetchesThePeersWindow) {
  Pair pair;
  memory::fill_pattern(slot(pair.b.window(), 1), 77);
  ASSERT_EQ(pair.a.post<Read>(pair.a.send_region().stride, pair.a.send_region().stride, kSize, 0,
                              Signal::now),
            PostStatus::posted);
  EXPECT_EQ(memory::find_mismatch(slot(pair.a.send_region(), 1), 77), std::nullopt);
}

TEST(LoopEndpoint, RefusesMoreThanItsDepthUntilPolled) {
  Pair pair;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(pair.a.post<Write>(0, 0, kSize, 0, Signal::by_interval), PostStatus::posted);
  }
  EXPECT_EQ(pair.a.post<Write>(0, 0, kSize, 0, Signal::by_interval), PostStatus::busy);
  drain(pair.a);
  EXPECT_EQ(pair.a.completed(), 4U);
  EXPECT_EQ(pair.a.post<Write>(0, 0, kSize, 0, Signal::by_interval), PostStatus::posted);
}

TEST(LoopEndpoint, CompletesAtItsIntervalAndWhenAsked) {
  EndpointRequest every_third = request();
  every_third.signal_every = 3;
  Pair pair(every_third);
  Endpoint& a = pair.a;
  const auto completed_after = [&](Signal signal) {
    EXPECT_EQ(a.post<Write>(0, 0, kSize, 0, signal), PostStatus::posted);
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
  }
  EXPECT_EQ(survivor.post<Write>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
}

TEST(LoopEndpoint, RefusesAnAddressItDoesNotKnow) {
  Endpoint endpoint(request(), "");
  EXPECT_THROW(endpoint.connect("loop-999999"), Error);
}

TEST(LoopEndpoint, RefusesWhatItWasNotOpenedFor) {
  Pair pair;
  EXPECT_EQ(pair.a.post<Write>(0, 0, kSize + 1, 0, Signal::now), PostStatus::failed);
  EXPECT_EQ(pair.a.post<FetchAdd>(0, 0, 8, 0, Signal::now), PostStatus::failed);
  EXPECT_EQ(pair.a.posted(), 0U);
}

TEST(LoopEndpoint, RefusesWhatLiesOutsideOfEitherSidesMemory) {
  Pair pair;
  const std::uint64_t end = pair.a.peer_window_bytes();
  EXPECT_EQ(pair.a.post<Write>(0, end - kSize, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(pair.a.post<Write>(0, end - kSize + 1, kSize, 0, Signal::now), PostStatus::failed);
  EXPECT_EQ(pair.a.post<Write>(end - kSize + 1, 0, kSize, 0, Signal::now), PostStatus::failed);
  EXPECT_EQ(pair.a.post<Read>(0, ~std::uint64_t{0}, kSize, 0, Signal::now), PostStatus::failed);
  EXPECT_EQ(pair.a.post<WriteImm>(0, end, 1, 0, Signal::now), PostStatus::failed);
  const Message outside{.local = 0, .remote = end, .bytes = 1, .word = 0};
  EXPECT_EQ(pair.a.post_list<Write>(std::span(&outside, 1), Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.a.failure(), testing::HasSubstr("outside of"));
}

TEST(LoopEndpoint, RefusesASendThatThePeersReceivesDoNotHold) {
  std::vector<std::byte> memory(1024);
  EndpointRequest large = request();
  large.max_size = memory.size();
  large.buffers = {memory};
  Endpoint a(large, "");
  Endpoint b(request(), "");
  a.connect(b.address());
  EXPECT_EQ(a.post<Send>(0, 0, 512, 0, Signal::now), PostStatus::failed);
}

TEST(LoopEndpoint, AnyOperationFollowsAnyOtherInTheCallersMemory) {
  std::vector<std::byte> mine(300), theirs(1000);
  EndpointRequest own = request();
  own.buffers = {mine};
  EndpointRequest other = request();
  other.buffers = {theirs};
  Endpoint a(own, "");
  Endpoint b(other, "");
  a.connect(b.address());
  b.connect(a.address());
  EXPECT_EQ(a.peer_window_bytes(), 1000U);
  memory::fill_pattern({mine.data() + 1, 90}, 4);
  ASSERT_EQ(a.post<Write>(1, 901, 50, 0, Signal::by_interval), PostStatus::posted);
  ASSERT_EQ(a.post<WriteImm>(51, 951, 40, 7, Signal::now), PostStatus::posted);
  EXPECT_EQ(memory::find_mismatch({theirs.data() + 901, 90}, 4), std::nullopt);
  const auto received = drain(b);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].bytes, 40U);
  ASSERT_EQ(a.post<Read>(200, 901, 90, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(memory::find_mismatch({mine.data() + 200, 90}, 4), std::nullopt);
}

TEST(LoopEndpoint, MovesBetweenAnyTwoRegions) {
  Buffers mine = three_buffers(1), theirs = three_buffers(4);
  EndpointRequest own = request();
  own.options.post_list = 3;
  own.buffers = spans(mine);
  EndpointRequest other = request();
  other.buffers = spans(theirs);
  Endpoint a(own, "");
  Endpoint b(other, "");
  a.connect(b.address());
  b.connect(a.address());
  std::vector<Received> arrived;
  move_between_regions(a, mine, theirs, arrived, [&] {
    drain(a);
    for (const Received& received : drain(b)) arrived.push_back(received);
  });
  refuse_what_is_no_region(a);
}

TEST(LoopEndpoint, AtomicsActOnThePeersWindowAndBringBackWhatWasThere) {
  EndpointRequest eight = request();
  eight.max_size = kAtomicBytes;
  eight.operations = {OperationCode::fetch_add, OperationCode::compare_swap};
  Pair pair(eight);
  auto& [a, b] = pair;
  const auto word = [](const std::byte* at) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(a.post<FetchAdd>(64, 64, kAtomicBytes, 0, Signal::now), PostStatus::posted);
    EXPECT_EQ(word(a.send_region().data + 64), i);
    EXPECT_EQ(word(b.window().data + 64), i + 1);
    drain(a);
  }
  ASSERT_EQ(a.post<CompareSwap>(64, 64, kAtomicBytes, 7, Signal::now), PostStatus::posted);
  EXPECT_EQ(word(a.send_region().data + 64), 3U);  // it held 3 and not 7, so nothing was swapped
  EXPECT_EQ(word(b.window().data + 64), 3U);
  drain(a);
  ASSERT_EQ(a.post<CompareSwap>(64, 64, kAtomicBytes, 3, Signal::now), PostStatus::posted);
  EXPECT_EQ(word(a.send_region().data + 64), 3U);
  EXPECT_EQ(word(b.window().data + 64), 4U);
}

TEST(LoopEndpoint, SendImmCarriesItsWord) {
  Pair pair;
  ASSERT_EQ(pair.a.post<SendImm>(0, 0, kSize, 0x1234567890, Signal::now), PostStatus::posted);
  const auto received = drain(pair.b);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].immediate, 0x34567890U);
}

TEST(LoopEndpoint, PostsAListWholeOrNotAtAll) {
  EndpointRequest wide = request();
  wide.receives = wide.receive_slots = 4;
  wide.send_slots = 3;
  wide.options.post_list = 3;
  Pair pair(wide);
  auto& [a, b] = pair;
  const std::uint64_t stride = a.send_region().stride;
  for (std::uint32_t i = 0; i < 3; ++i) {
    memory::fill_pattern(slot(a.send_region(), i), static_cast<std::uint8_t>(i + 1));
  }
  std::vector<Message> burst;
  for (std::uint64_t k = 0; k < 3; ++k) {
    const std::uint64_t offset = (2 + k) % 3 * stride;
    burst.push_back({.local = offset, .remote = offset, .bytes = kSize, .word = 10 + k});
  }
  ASSERT_EQ(a.post_list<SendImm>(burst, Signal::now), PostStatus::posted);
  EXPECT_EQ(a.post_list<SendImm>(burst, Signal::now), PostStatus::busy);  // two receives are left
  EXPECT_EQ(a.posted(), 3U);
  const auto received = drain(b);
  ASSERT_EQ(received.size(), 3U);
  const std::uint8_t tags[] = {3, 1, 2};
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(received[i].immediate, 10 + i);
    EXPECT_EQ(memory::find_mismatch(slot(b.receive_region(), i), tags[i]), std::nullopt);
  }
  drain(a);
  EXPECT_EQ(a.completed(), 3U);
}

TEST(LoopEndpoint, RefusesAListThatItWasNotOpenedFor) {
  EndpointRequest lists = request();
  lists.options.post_list = 2;
  Pair pair(lists);
  const std::vector<Message> plain(5, {.local = 0, .remote = 0, .bytes = kSize, .word = 0});
  const std::vector<RegionMessage> regions(5, {.bytes = kSize});
  for (const std::size_t count : {3, 5}) {  // more than a list, more than the depth
    EXPECT_EQ(pair.a.post_list<Write>(std::span(plain).first(count), Signal::now),
              PostStatus::failed);
    EXPECT_EQ(pair.a.post_list<Write>(std::span(regions).first(count), Signal::now),
              PostStatus::failed);
  }
  EXPECT_EQ(pair.a.posted(), 0U);
  EXPECT_THAT(pair.a.failure(), testing::HasSubstr("list"));
  for (const std::uint32_t length : {0U, 5U}) {
    lists.options.post_list = length;
    EXPECT_THAT(usage_complaint([&] { Endpoint(lists, ""); }), testing::HasSubstr("depth of 4"));
  }
}

TEST(LoopQueuePairs, AreEachInOrderAndHaveReceivesOfTheirOwn) {
  EndpointRequest many = request();
  many.options.queue_pairs = 3;
  many.receive_slots = 6;
  ManyEndpoint a(many, "");
  ManyEndpoint b(many, "");
  a.connect(b.address());
  b.connect(a.address());
  for (std::uint32_t i = 0; i < 6; ++i) {
    ASSERT_EQ(a.post<SendImm>(0, 0, kSize, i, Signal::now, i % 3), PostStatus::posted);
  }
  EXPECT_EQ(a.post<SendImm>(0, 0, kSize, 6, Signal::now, 0), PostStatus::busy);
  std::vector<Received> all;
  b.poll([&](const Received& received) noexcept { all.push_back(received); });
  ASSERT_EQ(all.size(), 6U);
  EXPECT_NE(all.front().immediate, 0U);  // not in the order of posting over all
  std::vector<std::uint32_t> last(3, 0);
  for (const Received& received : all) {
    const std::uint32_t queue_pair = received.immediate % 3;
    EXPECT_EQ(received.slot / 2, queue_pair);
    EXPECT_TRUE(received.immediate < 3 || last[queue_pair] == received.immediate - 3);
    last[queue_pair] = received.immediate;
    EXPECT_EQ(b.post_receive(received.slot), PostStatus::posted);
  }
  for (int poll = 0; poll < 3; ++poll) a.poll([](const Received&) noexcept {});
  EXPECT_EQ(a.completed(), 6U);
  EXPECT_EQ(a.post<SendImm>(0, 0, kSize, 6, Signal::now, 0), PostStatus::posted);
}

TEST(LoopEndpoint, TakesAStrideAndAnUnalignedStart) {
  EndpointRequest odd = request();
  odd.slot_stride = 4096;
  odd.options.misalignment = 3;
  Pair pair(odd);
  auto& [a, b] = pair;
  EXPECT_EQ(a.send_region().stride, 4096U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.send_region().data) % 64, 3U);
  memory::fill_pattern(slot(a.send_region(), 1), 9);
  ASSERT_EQ(a.post<Write>(4096, 4096, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(memory::find_mismatch(slot(b.window(), 1), 9), std::nullopt);
  odd.operations = OperationCode::fetch_add;
  EXPECT_THROW(Endpoint(odd, ""), Error);
}

TEST(LoopEndpoint, NamesTheBackEndThatHasWhatItLacks) {
  const auto said = [](auto change) {
    EndpointRequest r = request();
    change(r);
    return error_text([&] { Endpoint(r, ""); });
  };
  EXPECT_THAT(said([](EndpointRequest& r) { r.options.verbs.mtu = 1024; }),
              testing::EndsWith("Use `backend` verbs, or leave it out."));
  EXPECT_THAT(said([](EndpointRequest& r) { r.options.segments = 2; }),
              testing::EndsWith("Use `backend` verbs, or leave it out."));
  EXPECT_THAT(said([](EndpointRequest& r) { r.options.ofi.provider = "tcp"; }),
              testing::EndsWith("Use `backend` ofi, or leave it out."));
  EXPECT_THAT(said([](EndpointRequest& r) { r.options.events = true; }),
              testing::EndsWith("Use `backend` verbs, ofi or ucx, or leave it out."));
}

TEST(LoopEndpoint, RefusesWhatItWouldNotDo) {
  const auto refused = [](auto change) {
    EndpointRequest r = request();
    change(r);
    EXPECT_THROW(Endpoint(r, ""), Error);
  };
  static std::vector<std::byte> small(kSize - 1);
  refused([](EndpointRequest& r) { r.receive_buffer = small; });
  refused([](EndpointRequest& r) { r.buffers = {small}; });
  static std::vector<std::byte> large(kSize);
  refused([](EndpointRequest& r) { r.buffers = {large, {}}; });
  refused([](EndpointRequest& r) { r.buffers.assign(kMaxRegions + 1, large); });
  refused([](EndpointRequest& r) { r.options.service = Service::ud; });
  refused([](EndpointRequest& r) { r.memory = "file:/dev/zero"; });
  refused([](EndpointRequest& r) { r.memory = "huge"; });
  refused([](EndpointRequest& r) { r.options.events = true; });
  refused([](EndpointRequest& r) { r.options.segments = 2; });
  refused([](EndpointRequest& r) { r.options.separate_queues = true; });
  refused([](EndpointRequest& r) { r.options.on_demand = true; });
  refused([](EndpointRequest& r) { r.options.relaxed_ordering = false; });
  refused([](EndpointRequest& r) { r.options.verbs.shared_receives = true; });
  refused([](EndpointRequest& r) { r.options.verbs.rdma_cm = true; });
  refused([](EndpointRequest& r) { r.options.verbs.completion_vector = 0; });
  refused([](EndpointRequest& r) { r.options.ofi.provider = "tcp"; });
  refused([](EndpointRequest& r) { r.fabric = "efa"; });
  refused([](EndpointRequest& r) { r.options.verbs.mtu = 1024; });
  refused([](EndpointRequest& r) { r.options.verbs.path.hop_limit = 2; });
  refused([](EndpointRequest& r) { r.options.queue_pairs = 2; });
  refused([](EndpointRequest& r) { r.slot_stride = 64; });
  EndpointRequest r = request();
  r.options.queue_pairs = 0;
  EXPECT_THROW(ManyEndpoint(r, ""), Error);
}

TEST(LoopBackend, RefusesAnotherProcess) {
  const EndpointRequest r = request();
  EXPECT_NO_THROW(choose(r, offer(r), offer(r)));
  EXPECT_THROW(choose(r, offer(r), "1-00000000"), Error);
  const std::string of_parent = offer(r);
  EXPECT_EXIT(std::exit(offer(r) == of_parent ? 1 : 0), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::loop

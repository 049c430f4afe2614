#include "rdmabench/transport/ucx/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../complaint.h"
#include "../regions.h"
#include "pair.h"

namespace rdmabench::inline v1::transport::ucx::endpoint_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Pair = PairOf<Endpoint>;
using ManyPair = PairOf<ManyEndpoint>;

/// Two that every machine has.
class UcxEndpoint : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { need(request(GetParam(), OperationCode::send)); }
};

INSTANTIATE_TEST_SUITE_P(Transports, UcxEndpoint, ::testing::Values("tcp", "posix"));

TEST_P(UcxEndpoint, SendFillsAReceiveSlot) {
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{8}, kSize}) {
    Pair pair(request(GetParam(), OperationCode::send));
    memory::fill_pattern(slot(pair.a->send_region(), 1, size), 7);
    pair.must(
        [&] { return pair.a->post<Send>(pair.a->send_region().stride, 0, size, 0, Signal::now); });
    pair.poll_until([&] { return !pair.at_b.empty(); });
    EXPECT_EQ(pair.at_b[0].bytes, size);
    EXPECT_EQ(pair.at_b[0].immediate, 0U);
    EXPECT_TRUE(holds(pair.b->receive_region(), pair.at_b[0].slot % 2, 7, size));
    pair.settle();
  }
}

TEST_P(UcxEndpoint, ALongSendArrivesByRendezvous) {
  constexpr std::uint64_t kLong = 4 << 20;
  EndpointRequest r = request(GetParam(), OperationCode::send);
  r.max_size = kLong;
  Pair pair(r);
  memory::fill_pattern(slot(pair.a->send_region(), 0, kLong), 11);
  pair.must([&] { return pair.a->post<Send>(0, 0, kLong, 0, Signal::now); });
  pair.poll_until([&] { return !pair.at_b.empty(); });
  EXPECT_EQ(pair.at_b[0].bytes, kLong);
  EXPECT_TRUE(holds(pair.b->receive_region(), pair.at_b[0].slot % 2, 11, kLong));
  pair.settle();
}

TEST_P(UcxEndpoint, SendWithImmediateBringsIt) {
  Pair pair(request(GetParam(), {OperationCode::send_imm, OperationCode::send}));
  pair.must([&] { return pair.a->post<SendImm>(0, 0, 77, 0xfeedbeef, Signal::now); });
  pair.must([&] { return pair.a->post<Send>(0, 0, 78, 5, Signal::now); });
  pair.poll_until([&] { return pair.at_b.size() == 2; });
  const bool in_turn = pair.at_b[0].bytes == 77;
  EXPECT_EQ(pair.at_b[in_turn ? 0 : 1].immediate, 0xfeedbeefU);
  EXPECT_EQ(pair.at_b[in_turn ? 1 : 0].immediate, 0U);
  pair.settle();
}

TEST_P(UcxEndpoint, TheLastWriteOfARunIsInThePeersMemoryOnceItCompleted) {
  Pair pair(request(GetParam(), OperationCode::write));
  const std::uint64_t stride = pair.a->send_region().stride;
  memory::fill_pattern(slot(pair.a->send_region(), 0), 8);
  memory::fill_pattern(slot(pair.a->send_region(), 1), 9);
  pair.must([&] { return pair.a->post<Write>(0, 0, kSize, 0, Signal::by_interval); });
  pair.must([&] { return pair.a->post<Write>(stride, stride, kSize, 0, Signal::now); });
  pair.settle();
  EXPECT_TRUE(holds(pair.b->window(), 0, 8));
  EXPECT_TRUE(holds(pair.b->window(), 1, 9));
  EXPECT_TRUE(pair.at_b.empty());
  EXPECT_EQ(pair.a->describe().completion, "transmit");
}

TEST_P(UcxEndpoint, EachWriteIsFlushedWhereDeliveryIsAskedFor) {
  EndpointRequest r = request(GetParam(), OperationCode::write);
  r.delivery = true;
  Pair pair(r);
  EXPECT_EQ(pair.a->describe().completion, "delivery");
  memory::fill_pattern(slot(pair.a->send_region(), 0), 8);
  pair.must([&] { return pair.a->post<Write>(0, 0, kSize, 0, Signal::by_interval); });
  pair.settle();
  EXPECT_TRUE(holds(pair.b->window(), 0, 8));
}

TEST_P(UcxEndpoint, ReadFetchesThePeersWindow) {
  Pair pair(request(GetParam(), OperationCode::read));
  const std::uint64_t stride = pair.a->send_region().stride;
  memory::fill_pattern(slot(pair.b->window(), 1), 77);
  pair.must([&] { return pair.a->post<Read>(stride, stride, kSize, 0, Signal::now); });
  pair.settle();
  EXPECT_TRUE(holds(pair.a->send_region(), 1, 77));
}

std::uint64_t word_at(const Region& region) {
  std::uint64_t word = 0;
  std::memcpy(&word, region.data, sizeof word);
  return word;
}

TEST_P(UcxEndpoint, AtomicsActOnThePeersWord) {
  Pair pair(request(GetParam(), {OperationCode::fetch_add, OperationCode::compare_swap}));
  std::memset(pair.b->window().data, 0, 8);
  for (std::uint64_t i = 0; i < 5; ++i) {
    pair.must([&] { return pair.a->post<FetchAdd>(0, 0, 8, 0, Signal::now); });
    pair.settle();
    EXPECT_EQ(word_at(pair.a->send_region()), i);
  }
  pair.must([&] { return pair.a->post<CompareSwap>(0, 0, 8, 5, Signal::now); });
  pair.settle();
  EXPECT_EQ(word_at(pair.a->send_region()), 5U);
  EXPECT_EQ(word_at(pair.b->window()), 6U);
  pair.must([&] { return pair.a->post<CompareSwap>(0, 0, 8, 5, Signal::now); });  // too late
  pair.settle();
  EXPECT_EQ(word_at(pair.a->send_region()), 6U);
  EXPECT_EQ(word_at(pair.b->window()), 6U);
}

TEST_P(UcxEndpoint, AsManySwapsAsTheDepthMayBeUnderWay) {
  Pair pair(request(GetParam(), OperationCode::compare_swap));
  std::memset(pair.b->window().data, 0, 8);
  for (std::uint64_t i = 0; i < 100; ++i) {
    pair.must([&] {
      return pair.a->post<CompareSwap>(i % 2 * pair.a->send_region().stride, 0, 8, i, Signal::now);
    });
  }
  pair.settle();
  EXPECT_GE(word_at(pair.b->window()), 1U);
}

TEST_P(UcxEndpoint, MovesBetweenAnyTwoRegions) {
  Buffers mine = three_buffers(1), theirs = three_buffers(4);
  EndpointRequest r = request(GetParam(), {OperationCode::send, OperationCode::send_imm,
                                           OperationCode::write, OperationCode::read});
  r.options.post_list = 3;
  r.buffers = spans(mine);
  Pair pair(r, spans(theirs));
  EXPECT_EQ(pair.a->send_region().data, mine[0].data());
  EXPECT_EQ(pair.a->peer_window_bytes(), theirs[0].size());
  move_between_regions(*pair.a, mine, theirs, pair.at_b, [&] { pair.poll(); });
  refuse_what_is_no_region(*pair.a);
}

TEST_P(UcxEndpoint, TokenIsAReceiveOfNoBytes) {
  Pair pair(request(GetParam(), OperationCode::write));
  pair.must([&] { return pair.a->post<Send>(0, 0, 0, 0, Signal::now); });
  pair.poll_until([&] { return !pair.at_b.empty(); });
  EXPECT_EQ(pair.at_b[0].bytes, 0U);
  pair.settle();
}

/// They come before their receives, too: UCX then gives them within the call that posts one.
TEST_P(UcxEndpoint, ManyMessagesEachFindAReceive) {
  constexpr std::uint32_t kCount = 2000;
  Pair pair(request(GetParam(), OperationCode::send));
  std::uint64_t arrived = 0;
  std::uint64_t bytes = 0;
  pair.poll_until([&] {
    for (int i = 0; i < 20 && pair.a->posted() < kCount; ++i) {
      EXPECT_NE(pair.a->post<Send>(0, 0, 64, 0, Signal::by_interval), PostStatus::failed);
    }
    for (const Received& received : pair.at_b) {
      ++arrived;
      bytes += received.bytes;
      EXPECT_EQ(pair.b->post_receive(received.slot), PostStatus::posted);
    }
    pair.at_b.clear();
    return arrived == kCount && pair.a->completed() == kCount;
  });
  EXPECT_EQ(bytes, kCount * 64U);
}

/// Whoever sleeps after an empty poll would sleep after each burst.
TEST_P(UcxEndpoint, APollCountsWhatCompletedWithinItsCallToo) {
  constexpr int kCount = 50;
  Pair pair(request(GetParam(), OperationCode::send));
  int counted = 0;
  const Deadline deadline = Deadline::after(std::chrono::seconds(20));
  while (counted < kCount && !deadline.passed()) {
    if (pair.a->posted() < kCount) {
      EXPECT_NE(pair.a->post<Send>(0, 0, 8, 0, Signal::by_interval), PostStatus::failed);
    }
    const int seen = pair.a->poll([](const Received&) noexcept {});
    ASSERT_GE(seen, 0) << pair.a->failure();
    counted += seen;
    EXPECT_EQ(pair.a->completed(), static_cast<std::uint64_t>(counted));
    ASSERT_GE(pair.b->poll([&](const Received& r) noexcept { pair.b->post_receive(r.slot); }), 0);
  }
  EXPECT_EQ(counted, kCount);
}

TEST_P(UcxEndpoint, TakesAListWholeOrNotAtAll) {
  EndpointRequest r = request(GetParam(), OperationCode::send);
  r.options.post_list = 3;
  Pair pair(r);
  const std::vector<Message> three(3, Message{.local = 0, .remote = 0, .bytes = 9, .word = 0});
  const std::vector<Message> four(4, three[0]);
  pair.must([&] { return pair.a->post_list<Send>(three, Signal::now); });
  pair.must([&] { return pair.a->post_list<Send>(std::span(three).first(0), Signal::now); });
  EXPECT_EQ(pair.a->posted(), 3U);
  pair.poll_until([&] { return pair.at_b.size() == 3; });
  EXPECT_EQ(pair.a->post_list<Send>(four, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.a->failure(), HasSubstr("list"));
}

TEST_P(UcxEndpoint, QueuePairsHaveReceivesOfTheirOwn) {
  EndpointRequest r =
      request(GetParam(), {OperationCode::send, OperationCode::send_imm, OperationCode::write});
  r.options.queue_pairs = 3;
  ManyPair pair(r);
  for (std::uint32_t i = 0; i < 3; ++i) {
    pair.must([&] { return pair.a->post<SendImm>(0, 0, 10 + i, i, Signal::now, i); });
    pair.must([&] { return pair.a->post<Write>(0, 0, kSize, 0, Signal::now, i); });
  }
  pair.poll_until([&] { return pair.at_b.size() == 3; });
  for (const Received& received : pair.at_b) {
    EXPECT_EQ(received.slot / r.receives, received.immediate);
    EXPECT_EQ(received.bytes, 10 + received.immediate);
  }
  pair.settle();
}

TEST_P(UcxEndpoint, AnEndpointWithEventsSleepsAndWakes) {
  EndpointRequest r = request(GetParam(), OperationCode::send);
  r.options.events = true;
  need(r);
  if (IsSkipped()) return;
  ManyPair pair(r);
  pair.must([&] { return pair.a->post<Send>(0, 0, 8, 0, Signal::now); });
  pair.poll_until([&] {
    EXPECT_TRUE(pair.b->wait_for_event(std::chrono::milliseconds(1)));
    return !pair.at_b.empty();
  });
  pair.settle();
}

TEST_P(UcxEndpoint, RefusesWhatItWasNotOpenedFor) {
  Pair pair(request(GetParam(), OperationCode::send));
  EXPECT_EQ(pair.a->post<Send>(0, 0, kSize + 1, 0, Signal::now), PostStatus::failed);
  EXPECT_EQ(pair.a->post<Read>(0, 0, kSize, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.a->failure(), HasSubstr("not opened for"));
}

TEST_P(UcxEndpoint, SaysWhatItTook) {
  Pair pair(request(GetParam(), OperationCode::send));
  const Description facts = pair.a->describe();
  EXPECT_EQ(facts.backend, "ucx");
  EXPECT_EQ(facts.provider, GetParam());
  EXPECT_THAT(facts.details, Contains(::testing::Pair("ucx_tls", GetParam())));
  EXPECT_THAT(facts.details,
              Contains(::testing::Pair("lanes", HasSubstr(std::string(GetParam()) + "/"))));
}

TEST_P(UcxEndpoint, APeerInThisProcessMayGoWhileTheOtherPolls) {
  for (const bool first : {false, true}) {
    Pair pair(request(GetParam(), OperationCode::send));
    auto& goes = first ? pair.a : pair.b;
    auto& stays = first ? pair.b : pair.a;
    for (int i = 0; i < 3; ++i) goes->post<Send>(0, 0, kSize, 0, Signal::now);
    goes.reset();
    for (int i = 0; i < 1000; ++i) stays->poll([](const Received&) noexcept {});
  }
}

TEST_P(UcxEndpoint, SeveralPairsRunInThreadsOfOneProcess) {
  std::vector<std::thread> threads;
  for (std::uint8_t tag = 1; tag <= 4; ++tag) {
    threads.emplace_back([tag] {
      Pair pair(request(GetParam(), OperationCode::write));
      memory::fill_pattern(slot(pair.a->send_region(), 0), tag);
      for (int i = 0; i < 20; ++i) {
        pair.must([&] { return pair.a->post<Write>(0, 0, kSize, 0, Signal::now); });
      }
      pair.settle();
      EXPECT_TRUE(holds(pair.b->window(), 0, tag));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(UcxEndpoint, RefusesAnAddressThatIsNotOne) {
  Endpoint endpoint(request(GetParam(), OperationCode::write), "");
  const Json good = Json::parse(endpoint.address());
  const auto with = [&](const char* key, const Json& value) {
    Json json = good;
    json[key] = value;
    return json.dump();
  };
  const std::uint64_t huge = ~std::uint64_t{0};
  const Json region = good["regions"][0];
  const auto regions = [&](const char* key, const Json& value) {
    Json one = region;
    one[key] = value;
    return with("regions", {one});
  };
  for (const std::string& bad : {std::string(),
                                 std::string("null"),
                                 std::string("{}"),
                                 with("worker", ""),
                                 with("worker", "0"),
                                 with("worker", "zz"),
                                 with("worker", 7),
                                 with("worker", std::string(200000, '0')),
                                 with("queue_pairs", 2),
                                 with("queue_pairs", 0),
                                 with("regions", Json::array()),
                                 with("regions", 7),
                                 with("regions", {7}),
                                 with("regions", Json(std::vector<Json>(kMaxRegions + 1, region))),
                                 regions("bytes", 1),
                                 regions("bytes", huge),
                                 regions("base", huge),
                                 regions("base", -1),
                                 regions("key", ""),
                                 regions("key", 1),
                                 regions("key", std::string(20000, '0'))}) {
    EXPECT_THROW(endpoint.connect(bad), Error) << bad.substr(0, 200);
  }
}

TEST_P(UcxEndpoint, LeavesNoFileDescriptorBehind) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  std::ptrdiff_t before = 0;
  for (int round = 0; round < 4; ++round) {
    {
      Pair pair(request(GetParam(), OperationCode::write));
      pair.must([&] { return pair.a->post<Write>(0, 0, 8, 0, Signal::now); });
      pair.settle();
    }
    if (round == 0) before = open_files();  // UCX keeps some of its own from the first use on
  }
  EXPECT_EQ(open_files(), before);
}

TEST(UcxEndpointOptions, RefusesListsBeyondTheDepthAndWordsOffTheirPlace) {
  EndpointRequest r = request("", OperationCode::fetch_add);
  r.options.post_list = kDepth + 1;
  EXPECT_THAT(complaint([&] { const Endpoint endpoint(r, ""); }, Fault::usage),
              HasSubstr("`post_list`"));
  r.options.post_list = 1;
  r.options.misalignment = 3;
  EXPECT_THAT(complaint([&] { const Endpoint endpoint(r, ""); }, Fault::usage),
              HasSubstr("off by 3 bytes"));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ucx::endpoint_test

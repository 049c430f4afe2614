#include "rdmabench/transport/ofi/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "../complaint.h"
#include "../regions.h"
#include "pair.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "transport/ofi/backend.h"

namespace rdmabench::inline v1::transport::ofi::endpoint_test {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
using Json = nlohmann::json;

using Pair = PairOf<Endpoint>;

class OfiEndpoint : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { need(request(GetParam(), OperationCode::write_imm)); }
};

INSTANTIATE_TEST_SUITE_P(Providers, OfiEndpoint,
                         ::testing::Values("tcp", "net", "shm", "udp;ofi_rxd"), test_name);

TEST_P(OfiEndpoint, SendFillsAReceiveSlot) {
  Pair pair(request(GetParam(), OperationCode::send));
  memory::fill_pattern(slot(pair.a->send_region(), 1), 7);
  pair.must([&] {
    return pair.a->post<Send>(pair.a->send_region().stride, pair.a->send_region().stride, kSize, 0,
                              Signal::now);
  });
  pair.poll_until([&] { return !pair.at_b.empty(); });
  EXPECT_EQ(pair.at_b[0].bytes, kSize);
  EXPECT_TRUE(holds(pair.b->receive_region(), pair.at_b[0].slot % 2, 7));
  pair.settle();
}

TEST_P(OfiEndpoint, SmallSendOfAPingPongIsInjectedAndArrives) {
  Pair pair(request(GetParam(), OperationCode::send, /*latency=*/true));
  memory::fill_pattern(slot(pair.a->send_region(), 0, 8), 3);
  EXPECT_EQ(pair.a->describe(8).completion, "inject");
  pair.must([&] { return pair.a->post<Send>(0, 0, 8, 0, Signal::now); });
  EXPECT_EQ(pair.a->completed(), 1U);
  pair.poll_until([&] { return !pair.at_b.empty(); });
  EXPECT_EQ(pair.at_b[0].bytes, 8U);
  EXPECT_TRUE(holds(pair.b->receive_region(), pair.at_b[0].slot % 2, 3, 8));
}

TEST_P(OfiEndpoint, InjectsNothingWhenTold) {
  EndpointRequest r = request(GetParam(), OperationCode::send, /*latency=*/true);
  r.options.inline_limit = 0;
  Pair pair(r);
  EXPECT_NE(pair.a->describe(8).completion, "inject");
  pair.must([&] { return pair.a->post<Send>(0, 0, 8, 0, Signal::now); });
  pair.settle();
  pair.poll_until([&] { return !pair.at_b.empty(); });
}

TEST_P(OfiEndpoint, WhatIsToCompleteAtDeliveryIsNotInjected) {
  EndpointRequest r = request(GetParam(), OperationCode::send_imm, /*latency=*/true);
  r.operations.add(OperationCode::write);
  r.delivery = true;
  need(r);
  if (IsSkipped()) return;
  Pair pair(r);
  const Description facts = pair.a->describe(8);
  const bool relayed = facts.provider.ends_with(";ofi_rxm");
  EXPECT_EQ(facts.completion, relayed ? "transmit" : "delivery");
  if (relayed) {
    EXPECT_THAT(facts.details, ::testing::Contains(std::pair<std::string, std::string>(
                                   "completion_of_write", "delivery")));
  }
  pair.must([&] { return pair.a->post<SendImm>(0, 0, 8, 5, Signal::now); });
  EXPECT_EQ(pair.a->completed(), 0U);  // until a poll
  pair.settle();
  pair.poll_until([&] { return !pair.at_b.empty(); });
}

TEST_P(OfiEndpoint, SaysWhatItsWeakestOperationHas) {
  EndpointRequest r = request(GetParam(), OperationCode::write);
  need(r);
  if (IsSkipped()) return;
  const std::string writes = Pair(r).a->describe(8).completion;
  r.operations.add(OperationCode::read);
  EXPECT_EQ(Pair(r).a->describe(8).completion, writes);
}

TEST_P(OfiEndpoint, WriteLandsAtTheSameOffsetBeforeItsCompletion) {
  Pair pair(request(GetParam(), OperationCode::write));
  memory::fill_pattern(slot(pair.a->send_region(), 1), 9);
  pair.must([&] {
    return pair.a->post<Write>(pair.a->send_region().stride, pair.a->send_region().stride, kSize, 0,
                               Signal::now);
  });
  pair.settle();
  EXPECT_EQ(pair.a->describe().completion, "delivery");
  EXPECT_TRUE(holds(pair.b->window(), 1, 9));
  EXPECT_TRUE(pair.at_b.empty());
}

/// The two sides of a run in one process do not end at once: shm ended the process.
TEST_P(OfiEndpoint, APeerInThisProcessMayGoWhileTheOtherPolls) {
  for (const bool first : {false, true}) {
    Pair pair(request(GetParam(), OperationCode::send));
    auto& goes = first ? pair.a : pair.b;
    auto& stays = first ? pair.b : pair.a;
    for (int i = 0; i < 3; ++i) goes->post<Send>(0, 0, kSize, 0, Signal::now);
    goes.reset();
    for (int i = 0; i < 1000; ++i) stays->poll([](const Received&) noexcept {});
  }
}

TEST(OfiShm, APeerOfThisProcessThatHasGoneIsNotConnectedTo) {
  const EndpointRequest r = request("shm", OperationCode::send);
  need(r);
  if (::testing::Test::IsSkipped()) return;
  const std::string text = offer(r);
  const Choice choice = choose(r, text, text);
  std::optional<Endpoint> gone(std::in_place, r, choice.client);
  const std::string address = gone->address();
  gone.reset();
  EndpointRequest server = r;
  server.client = false;
  Endpoint stays(server, choice.server);
  EXPECT_THAT(complaint([&] { stays.connect(address); }).what(), HasSubstr("is closed"));
}

TEST_P(OfiEndpoint, WriteWithImmediateTellsTheTarget) {
  for (const bool latency : {false, true}) {
    for (const std::uint64_t size : {std::uint64_t{8}, kSize}) {
      Pair pair(request(GetParam(), OperationCode::write_imm, latency));
      memory::fill_pattern(slot(pair.a->send_region(), 1, size), 5);
      const std::uint64_t offset = pair.a->send_region().stride;
      pair.must(
          [&] { return pair.a->post<WriteImm>(offset, offset, size, 0xfeedbeef, Signal::now); });
      pair.poll_until([&] { return !pair.at_b.empty(); });
      EXPECT_EQ(pair.at_b[0].immediate, 0xfeedbeefU);
      EXPECT_EQ(pair.at_b[0].slot, kNoSlot);
      // Never another length: that of the message, or none.
      EXPECT_THAT(pair.at_b[0].bytes, ::testing::AnyOf(size, kUnknownLength));
      EXPECT_TRUE(holds(pair.b->window(), 1, 5, size));
      pair.settle();
    }
  }
}

TEST_P(OfiEndpoint, ReadFetchesThePeersWindow) {
  Pair pair(request(GetParam(), OperationCode::read));
  memory::fill_pattern(slot(pair.b->window(), 1), 77);
  pair.must([&] {
    return pair.a->post<Read>(pair.a->send_region().stride, pair.a->send_region().stride, kSize, 0,
                              Signal::now);
  });
  pair.settle();
  EXPECT_TRUE(holds(pair.a->send_region(), 1, 77));
}

TEST_P(OfiEndpoint, AnyOperationFollowsAnyOtherInTheCallersMemory) {
  std::vector<std::byte> mine(2 * kSize), theirs(4 * kSize);
  EndpointRequest r = request(GetParam(), OperationCode::write);
  r.operations = {OperationCode::send, OperationCode::write, OperationCode::write_imm,
                  OperationCode::read};
  r.buffers = {mine};
  Pair pair(r, {theirs});
  EXPECT_EQ(pair.a->send_region().data, mine.data());
  EXPECT_EQ(pair.a->peer_window_bytes(), theirs.size());
  memory::fill_pattern({mine.data(), kSize}, 6);
  pair.must([&] { return pair.a->post<Write>(0, kSize + 5, 1000, 0, Signal::now); });
  pair.must([&] { return pair.a->post<Write>(1000, kSize + 1005, 1500, 0, Signal::now); });
  pair.settle();
  pair.must([&] { return pair.a->post<WriteImm>(2500, kSize + 2505, 500, 44, Signal::now); });
  pair.poll_until([&] { return !pair.at_b.empty(); });
  EXPECT_EQ(pair.at_b[0].immediate, 44U);
  EXPECT_THAT(pair.at_b[0].bytes, ::testing::AnyOf(500U, kUnknownLength));
  EXPECT_EQ(memory::find_mismatch({theirs.data() + kSize + 5, kSize}, 6), std::nullopt);
  pair.must([&] { return pair.a->post<Read>(kSize, kSize + 5, kSize, 0, Signal::now); });
  pair.settle();
  EXPECT_EQ(memory::find_mismatch({mine.data() + kSize, kSize}, 6), std::nullopt);
  pair.must([&] { return pair.a->post<Send>(0, 0, 77, 0, Signal::now); });
  pair.poll_until([&] { return pair.at_b.size() == 2; });
  EXPECT_EQ(pair.at_b[1].bytes, 77U);
  pair.settle();
}

TEST_P(OfiEndpoint, MovesBetweenAnyTwoRegions) {
  for (const bool latency : {false, true}) {  // by messages that are injected, too
    Buffers mine = three_buffers(1), theirs = three_buffers(4);
    EndpointRequest r = request(GetParam(), OperationCode::write, latency);
    r.operations = {OperationCode::send, OperationCode::write, OperationCode::write_imm,
                    OperationCode::read};
    r.buffers = spans(mine);
    Pair pair(r, spans(theirs));
    move_between_regions(*pair.a, mine, theirs, pair.at_b, [&] { pair.poll(); });
    refuse_what_is_no_region(*pair.a);
  }
}

TEST_P(OfiEndpoint, TokenIsAReceiveOfNoBytes) {
  Pair pair(request(GetParam(), OperationCode::write));
  pair.must([&] { return pair.a->post<Send>(0, 0, 0, 0, Signal::now); });
  pair.poll_until([&] { return !pair.at_b.empty(); });
  EXPECT_EQ(pair.at_b[0].bytes, 0U);
  pair.settle();
}

TEST_P(OfiEndpoint, RefusesMoreThanItsDepthUntilPolled) {
  Pair pair(request(GetParam(), OperationCode::write));
  for (std::uint32_t i = 0; i < kDepth; ++i) {  // the provider connects during the first
    pair.must([&] { return pair.a->post<Write>(0, 0, kSize, 0, Signal::now); });
    if (i == 0) pair.settle();
  }
  pair.settle();
  std::uint32_t posted = 0;
  const std::uint64_t before = pair.a->posted();
  const std::uint64_t retries = pair.a->retries();
  while (pair.a->post<Write>(0, 0, kSize, 0, Signal::by_interval) == PostStatus::posted) ++posted;
  // shm takes one large write at a time where it may not attach to the peer's memory, and says so.
  if (pair.a->retries() == retries) {
    EXPECT_EQ(posted, kDepth);
  }
  EXPECT_LE(posted, kDepth);
  EXPECT_EQ(pair.a->posted(), before + posted);
  EXPECT_EQ(pair.a->completed(), before);
  pair.settle();
  EXPECT_EQ(pair.a->completed(), before + posted);
  pair.must([&] { return pair.a->post<Write>(0, 0, kSize, 0, Signal::now); });
  pair.settle();
}

TEST_P(OfiEndpoint, ManyMessagesEachFindAReceive) {
  constexpr std::uint32_t kCount = 2000;
  Pair pair(request(GetParam(), OperationCode::send));
  std::uint64_t arrived = 0;
  std::uint64_t bytes = 0;
  pair.poll_until([&] {
    if (pair.a->posted() < kCount) {
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

TEST_P(OfiEndpoint, ManyImmediatesEachArriveOnce) {
  constexpr std::uint32_t kCount = 2000;
  Pair pair(request(GetParam(), OperationCode::write_imm));
  std::vector<int> seen(kCount, 0);
  std::uint32_t next = 0;
  std::uint32_t arrived = 0;
  pair.poll_until([&] {
    if (next < kCount &&
        pair.a->post<WriteImm>(0, 0, 64, next, Signal::by_interval) == PostStatus::posted) {
      ++next;
    }
    for (const Received& received : pair.at_b) {
      if (received.immediate < kCount) ++seen[received.immediate];
      ++arrived;
    }
    pair.at_b.clear();
    return arrived == kCount && pair.a->completed() == kCount;
  });
  EXPECT_EQ(seen, std::vector<int>(kCount, 1));
}

TEST_P(OfiEndpoint, SeveralPairsRunInThreadsOfOneProcess) {
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

TEST_P(OfiEndpoint, RefusesAnAddressThatIsNotOneOfItsKind) {
  const EndpointRequest r = request(GetParam(), OperationCode::write);
  const std::string text = offer(r);
  Endpoint endpoint(r, choose(r, text, text).client);
  const Json good = Json::parse(endpoint.address());
  const auto with = [&](const char* key, const Json& value) {
    Json json = good;
    json[key] = value;
    return json.dump();
  };
  const std::uint64_t huge = ~std::uint64_t{0};
  const Json region{{"base", 8}, {"bytes", 8}, {"key", 1}};
  for (const std::string& bad : {std::string(),
                                 std::string("null"),
                                 std::string("{\"name\":\"00\"}"),
                                 with("names", ""),
                                 with("names", Json::array()),
                                 with("names", {""}),
                                 with("names", {"0"}),
                                 with("names", {"zz"}),
                                 with("names", {std::string(2000, '0')}),
                                 with("names", {7}),
                                 with("names", Json(std::vector<std::string>(3, "00"))),
                                 with("ticket", "x"),
                                 with("provider", "efa"),
                                 with("protocol", 999),
                                 with("protocol", 1ULL << 40),
                                 with("protocol_version", 999),
                                 with("addr_format", 77),
                                 with("window_bytes", 1),
                                 with("window_bytes", huge),
                                 with("window_base", huge),
                                 with("window_base", -1),
                                 with("window_key", "1"),
                                 with("window_key", 1.5),
                                 with("regions", 7),
                                 with("regions", {7}),
                                 with("regions", Json(std::vector<Json>(kMaxRegions, region))),
                                 with("regions", {{{"base", 0}, {"bytes", 8}}}),
                                 with("regions", {{{"base", 0}, {"bytes", 0}, {"key", 1}}}),
                                 with("regions", {{{"base", 8}, {"bytes", huge}, {"key", 1}}}),
                                 with("regions", {{{"base", 8}, {"bytes", 8}, {"key", -1}}})}) {
    EXPECT_THROW(endpoint.connect(bad), Error) << bad.substr(0, 200);
  }
}

TEST_P(OfiEndpoint, NamesTheLimitOfTheProvidersQueues) {
  EndpointRequest r = request(GetParam(), OperationCode::write);
  const std::string text = offer(r);
  const std::string choice = choose(r, text, text).client;
  r.depth = 1000000;
  EXPECT_THAT(complaint([&] { const Endpoint endpoint(r, choice); }, Fault::usage),
              ::testing::AllOf(HasSubstr("1000000"), HasSubstr("`depth`")));
}

TEST_P(OfiEndpoint, LeavesNoFileDescriptorBehind) {
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
    if (round == 0)
      before = open_files();  // the library keeps some of its own from the first use on
  }
  EXPECT_EQ(open_files(), before);
}

TEST_P(OfiEndpoint, SaysWhatItIs) {
  Pair pair(request(GetParam(), OperationCode::send));
  const Description description = pair.a->describe();
  EXPECT_EQ(description.backend, "ofi");
  EXPECT_EQ(description.transport, "rdm");
  EXPECT_THAT(description.provider, ::testing::StartsWith(GetParam()));
  EXPECT_EQ(description.completion, "transmit");
}

TEST(OfiEndpointChoice, RefusesAChoiceThatThisMachineDoesNotHave) {
  const EndpointRequest r = request("", OperationCode::write);
  const std::string text = offer(r);
  Json choice = Json::parse(choose(r, text, text).client);
  choice["domain"] = "eth99";
  EXPECT_THROW(Endpoint(r, choice.dump()), Error);
  EXPECT_THROW(Endpoint(r, "{}"), Error);
  EXPECT_THROW(Endpoint(r, "not JSON"), Error);
}

TEST(OfiEndpointChoice, RefusesAMessageBeyondWhatItWasOpenedFor) {
  Pair pair(request("", OperationCode::send));
  EXPECT_EQ(pair.a->post<Send>(0, 0, kSize + 1, 0, Signal::now), PostStatus::failed);
  EXPECT_EQ(pair.a->post<Read>(0, 0, kSize, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.a->failure(), ::testing::HasSubstr("not opened for"));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ofi::endpoint_test

// Every operation over every service, and what makes the services different.
#include <cstring>
#include <nlohmann/json.hpp>

#include "messages.h"

namespace rdmabench::inline v1::transport::verbs::services_test {
namespace {

using fake_verbs::Call;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class Services : public OnFakeVerbs {};

TEST_F(Services, UcMovesWhatItHas) {
  DatagramPair pair(over(Service::uc));
  move<Send>(pair);
  move<SendImm>(pair);
  move<Write>(pair);
  move<WriteImm>(pair);
  EXPECT_EQ(pair.client.describe().transport, "uc");
  EXPECT_EQ(pair.client.describe().completion, "transmit");
}

TEST_F(Services, UdMovesWhatItHas) {
  DatagramPair pair(over(Service::ud));
  move<Send>(pair);
  move<SendImm>(pair);
  EXPECT_EQ(pair.client.describe().transport, "ud");
}

TEST_F(Services, UdTakesTheSamePathsInEachRun) {
  EndpointRequest request = over(Service::ud);
  request.options.queue_pairs = 2;
  std::multiset<std::uint16_t> before;
  {
    const DatagramPair pair(request);
    before = fake_verbs::source_ports();
    EXPECT_EQ(std::set(before.begin(), before.end()).size(), 2U);  // one for each queue pair
    EXPECT_THAT(pair.client.describe().details, Contains(Fact("flow_label", "1,2")));
  }
  const DatagramPair again(request);
  EXPECT_EQ(fake_verbs::source_ports(), before);
  request.worker = 1;  // its messages spread, too
  const DatagramPair other(request);
  const std::multiset<std::uint16_t> all = fake_verbs::source_ports();
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 4U);
}

TEST_F(Services, AGivenFlowLabelIsThatOfAll) {
  EndpointRequest request = over(Service::ud);
  request.options.queue_pairs = 2;
  request.options.verbs.path.flow_label = 77;
  const DatagramPair pair(request);
  const std::multiset<std::uint16_t> ports = fake_verbs::source_ports();
  EXPECT_EQ(std::set(ports.begin(), ports.end()),
            (std::set<std::uint16_t>{ibv_flow_label_to_udp_sport(77)}));
  EXPECT_THAT(pair.client.describe().details, Contains(Fact("flow_label", "77,77")));
}

TEST_F(Services, XrcMovesEverything) {
  GeneralPair pair(over(Service::xrc));
  move_all(pair);
  EXPECT_EQ(pair.client.describe().transport, "xrc");
  ASSERT_EQ(pair.client.post<Send>(0, 0, 0, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(take(pair.server).size(), 1U);
}

TEST_F(Services, TheGeneralEndpointMovesEverythingOverRc) {
  GeneralPair pair(over(Service::rc));
  move_all(pair);
}

template <class Endpoint>
void fetch_and_add(Service service) {
  PairOf<Endpoint> pair(over(service, OperationCode::fetch_add));
  word(pair.server.window(), 1) = 41;
  const std::uint64_t offset = pair.client.send_region().stride;
  ASSERT_EQ(pair.client.template post<FetchAdd>(offset, offset, kAtomicBytes, 0, Signal::now),
            PostStatus::posted);
  ASSERT_EQ(pair.client.template post<FetchAdd>(offset, offset, kAtomicBytes, 0, Signal::now),
            PostStatus::posted);
  ASSERT_EQ(poll_once(pair.client), 2) << pair.client.failure();
  EXPECT_EQ(word(pair.client.send_region(), 1), 42U);  // what it was before the second
  EXPECT_EQ(word(pair.server.window(), 1), 43U);
}

TEST_F(Services, FetchAddAddsOne) {
  fetch_and_add<Endpoint>(Service::rc);
  fetch_and_add<GeneralEndpoint>(Service::xrc);
}

TEST_F(Services, CompareSwapSucceedsWhereTheWordIsTheOneExpected) {
  Pair pair(over(Service::rc, OperationCode::compare_swap));
  word(pair.server.window(), 0) = std::uint64_t{1} << 40;
  const std::uint64_t before = std::uint64_t{1} << 40;
  ASSERT_EQ(pair.client.post<CompareSwap>(0, 0, kAtomicBytes, before, Signal::now),
            PostStatus::posted);
  EXPECT_EQ(word(pair.client.send_region(), 0), before);
  EXPECT_EQ(word(pair.server.window(), 0), before + 1);
  ASSERT_EQ(pair.client.post<CompareSwap>(0, 0, kAtomicBytes, before, Signal::now),
            PostStatus::posted);
  EXPECT_EQ(word(pair.client.send_region(), 0), before + 1);  // it had moved on
  EXPECT_EQ(word(pair.server.window(), 0), before + 1);
  EXPECT_EQ(poll_once(pair.client), 2);
}

TEST_F(Services, OnlyAnEndpointForAtomicsTakesThem) {
  Pair pair;
  EXPECT_EQ(pair.client.post<FetchAdd>(0, 0, 8, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), HasSubstr("fetch-add"));
  Pair atomics(over(Service::rc, OperationCode::fetch_add));
  EXPECT_EQ(atomics.client.post<FetchAdd>(0, 0, 4, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(atomics.client.failure(), HasSubstr("4 bytes"));
}

TEST_F(Services, LostDatagramsCompleteAllTheSame) {
  for (const Service service : {Service::uc, Service::ud}) {
    DatagramPair pair(over(service));
    fake_verbs::lose_message();
    ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
    EXPECT_EQ(poll_once(pair.client), 1);
    EXPECT_TRUE(take(pair.server).empty());
    // ... as do those that find no receive.
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
    }
    EXPECT_EQ(poll_once(pair.client), 4);
    ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
    EXPECT_EQ(poll_once(pair.client), 1);
    EXPECT_EQ(take(pair.server).size(), 4U);
  }
}

TEST_F(Services, ADatagramWithAnotherKeyIsDropped) {
  const EndpointRequest request = over(Service::ud);
  const Choice choice = choice_for(request);
  DatagramEndpoint client(request, choice.client);
  DatagramEndpoint server(other_side(request), choice.server);
  nlohmann::json address = nlohmann::json::parse(server.address());
  address["qkey"] = address["qkey"].get<std::uint32_t>() ^ 1U;
  client.connect(address.dump());
  server.connect(client.address());
  ASSERT_EQ(client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(client), 1);
  EXPECT_TRUE(take(server).empty());
}

TEST_F(Services, OneDatagramQueuePairReachesManyPeers) {
  EndpointRequest request = over(Service::ud);
  request.options.queue_pairs = 3;
  EndpointRequest one = request;
  one.local_queue_pairs = 1;
  const Choice choice = choice_for(request);
  DatagramEndpoint client(one, choice.client);
  DatagramEndpoint server(other_side(request), choice.server);
  server.connect(client.address());
  client.connect(server.address());
  EXPECT_EQ(client.queue_pairs(), 3U);
  for (const std::uint32_t queue_pair : {2, 0, 1}) {
    for (int i = 0; i < 4; ++i) {  // each queue pair has its whole depth
      ASSERT_EQ(client.post<Send>(0, 0, kSize, 0, Signal::now, queue_pair), PostStatus::posted);
    }
    EXPECT_EQ(client.post<Send>(0, 0, kSize, 0, Signal::now, queue_pair), PostStatus::busy);
    const std::vector<Received> received = take(server);
    ASSERT_EQ(received.size(), 4U);
    for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(received[i].slot, queue_pair * 4 + i);
  }
  EXPECT_EQ(poll_once(client), 12);
  EXPECT_EQ(client.completed(), 12U);
  // And back: all queue pairs end at the one queue pair.
  for (const std::uint32_t queue_pair : {0, 1, 2}) {
    ASSERT_EQ(server.post<Send>(0, 0, kSize, 0, Signal::now, queue_pair), PostStatus::posted);
  }
  EXPECT_EQ(take(client).size(), 3U);
  EXPECT_EQ(poll_once(server), 3);
}

TEST_F(Services, DatagramsCarryThePathOptions) {
  EndpointRequest request = over(Service::ud);
  request.options.verbs.path.service_level = 3;
  request.options.verbs.path.traffic_class = 104;
  const DatagramPair pair(request);
  const nlohmann::json address = nlohmann::json::parse(pair.server.address());
  const std::uint32_t number = address["queues"][0]["qpn"];
  EXPECT_EQ(fake_verbs::attributes(number).qkey, address["qkey"]);
}

TEST_F(Services, MayFailAndLeaveNothingBehind) {
  every_failure<DatagramEndpoint>(over(Service::ud), Call::create_ah);
  every_failure<DatagramEndpoint>(over(Service::ud), Call::modify_qp);
  for (const Call call : {Call::create_srq, Call::open_xrcd, Call::create_qp, Call::modify_qp}) {
    every_failure<GeneralEndpoint>(over(Service::xrc), call);
  }
}

TEST_F(Services, AreGivenTheirEndpointType) {
  const auto queue_pairs = [](const EndpointRequest& request) {
    return with_endpoint_type(request, [](auto type) {
      using T = typename decltype(type)::type;
      return std::pair(T::kReliable, T::kManyQueuePairs);
    });
  };
  EXPECT_EQ(queue_pairs(over(Service::automatic)), std::pair(true, false));
  EXPECT_EQ(queue_pairs(over(Service::rc)), std::pair(true, false));
  EXPECT_EQ(queue_pairs(over(Service::xrc)), std::pair(true, true));
  EXPECT_EQ(queue_pairs(over(Service::uc)), std::pair(false, true));
  EXPECT_EQ(queue_pairs(over(Service::ud)), std::pair(false, true));
  EndpointRequest many = over(Service::rc);
  many.options.queue_pairs = 2;
  EXPECT_EQ(queue_pairs(many), std::pair(true, true));
  const Choice choice = choice_for(many);
  EXPECT_EQ(complaint([&] { const Endpoint endpoint(many, choice.client); }).fault(), Fault::usage);
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::services_test

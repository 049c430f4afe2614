// DC: initiators and targets of mlx5dv, posted to by ibv_wr_post(3).
#include <nlohmann/json.hpp>
#include <set>

#include "../fact.h"
#include "messages.h"

namespace rdmabench::inline v1::transport::verbs::dynamic_test {
namespace {

using fake_verbs::Call;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using DynamicPair = PairOf<DynamicEndpoint>;

class Dc : public OnFakeVerbs {
 protected:
  Dc() { fake_verbs::reset({fake_verbs::mlx5()}); }
};

TEST_F(Dc, MovesEverything) {
  DynamicPair pair(over(Service::dc));
  move_all(pair);
  const Description client = pair.client.describe();
  EXPECT_EQ(client.transport, "dc");
  EXPECT_EQ(client.completion, "delivery");
  EXPECT_THAT(client.details, AllOf(Contains(Fact("post_api", "ibv_wr_*")),
                                    Contains(Fact("receive_queue", "shared"))));
  EXPECT_EQ(fact(client.details, "remote_dctn"), fact(pair.server.describe().details, "dctn"));
  EXPECT_NE(fact(client.details, "dctn"), fact(client.details, "qpn"));
}

TEST_F(Dc, MovesTheSameWithoutInlineData) {
  EndpointRequest request = over(Service::dc);
  request.options.inline_limit = 0;
  request.options.segments = 3;
  DynamicPair pair(request);
  EXPECT_EQ(fact(pair.client.describe().details, "inline"), "0");
  move<Send>(pair);
  move<Write>(pair);
  move<Read>(pair);
}

TEST_F(Dc, TakesTheSamePathsInEachRun) {
  EndpointRequest request = over(Service::dc);
  request.options.queue_pairs = 2;
  std::multiset<std::uint16_t> before;
  {
    const DynamicPair pair(request);
    before = fake_verbs::source_ports();
    EXPECT_EQ(std::set(before.begin(), before.end()).size(), 2U);  // one for each queue pair
    EXPECT_EQ(fact(pair.client.describe().details, "flow_label"), "1,2");
  }
  const DynamicPair again(request);
  EXPECT_EQ(fake_verbs::source_ports(), before);
  request.worker = 1;  // its messages spread, too
  const DynamicPair other(request);
  const std::multiset<std::uint16_t> all = fake_verbs::source_ports();
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 4U);
  request.options.verbs.path.flow_label = 77;
  EXPECT_EQ(fact(DynamicPair(request).client.describe().details, "flow_label"), "77,77");
}

TEST_F(Dc, HasAtomics) {
  EndpointRequest request = over(Service::dc, OperationCode::compare_swap);
  request.operations.add(OperationCode::fetch_add);
  DynamicPair pair(request);
  word(pair.server.window(), 0) = 41;
  ASSERT_EQ(pair.client.post<CompareSwap>(0, 0, kAtomicBytes, 41, Signal::now), PostStatus::posted);
  EXPECT_EQ(word(pair.client.send_region(), 0), 41U);
  EXPECT_EQ(word(pair.server.window(), 0), 42U);
  EXPECT_EQ(poll_once(pair.client), 1);
  ASSERT_EQ(pair.client.post<FetchAdd>(0, 0, kAtomicBytes, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(word(pair.server.window(), 0), 43U);
  EXPECT_EQ(poll_once(pair.client), 1);
}

TEST_F(Dc, GivesEachQueuePairATargetOfItsOwn) {
  EndpointRequest request = over(Service::dc);
  request.options.queue_pairs = 3;
  DynamicPair pair(request);
  const json address = json::parse(pair.server.address());
  ASSERT_EQ(address["queues"].size(), 3U);
  EXPECT_NE(address["queues"][0]["receiver"], address["queues"][1]["receiver"]);
  for (const std::uint32_t queue_pair : {2, 0, 1}) move<Send>(pair, queue_pair);
}

TEST_F(Dc, HandsAListOverAtOnce) {
  EndpointRequest request = over(Service::dc);
  request.options.post_list = 3;
  request.signal_every = 1;
  DynamicPair pair(request);
  const Region from = pair.client.send_region();
  const auto burst = messages(from, 0, 3, kSize, 7);
  const int before = fake_verbs::calls(Call::wr_complete);
  ASSERT_EQ(pair.client.post_list<SendImm>(burst, Signal::now), PostStatus::posted);
  EXPECT_EQ(fake_verbs::calls(Call::wr_complete), before + 1);
  EXPECT_EQ(pair.client.post_list<SendImm>(burst, Signal::now),
            PostStatus::busy);  // 4 is the depth
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(received[i].immediate, 7 + i);
  EXPECT_EQ(poll_once(pair.client), 1);  // for all of them
  EXPECT_EQ(pair.client.completed(), 3U);
}

TEST_F(Dc, ATokenIsAMessageOfNoBytes) {
  DynamicPair pair(over(Service::dc));
  ASSERT_EQ(pair.client.post<Send>(0, 0, 0, 0, Signal::now), PostStatus::posted);
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].bytes, 0U);
}

TEST_F(Dc, ATargetIsOpenBeforeItsNumberIsTold) {
  const EndpointRequest request = over(Service::dc);
  const Choice choice = choice_for(request);
  const DynamicEndpoint server(other_side(request), choice.server);
  const std::uint32_t number = json::parse(server.address())["queues"][0]["receiver"];
  ASSERT_NE(number, 0U);
  EXPECT_EQ(fake_verbs::attributes(number).qp_state, IBV_QPS_RTR);
  EXPECT_EQ(fake_verbs::calls(Call::post_recv), 4);
}

TEST_F(Dc, CarriesThePathOptions) {
  EndpointRequest request = over(Service::dc);
  request.options.verbs.path.rnr_timer = 3;
  request.options.verbs.path.timeout = 9;
  request.options.verbs.path.retry_count = 2;
  request.options.verbs.path.traffic_class = 104;
  const DynamicPair pair(request);
  const json address = json::parse(pair.client.address())["queues"][0];
  const ibv_qp_attr target = fake_verbs::attributes(address["receiver"]);
  EXPECT_EQ(target.min_rnr_timer, 3);
  EXPECT_EQ(target.ah_attr.grh.traffic_class, 104);
  const ibv_qp_attr initiator = fake_verbs::attributes(address["qpn"]);
  EXPECT_EQ(initiator.timeout, 9);
  EXPECT_EQ(initiator.retry_cnt, 2);
}

TEST_F(Dc, AnotherKeyOpensNoTarget) {
  const EndpointRequest request = over(Service::dc);
  const Choice choice = choice_for(request);
  DynamicEndpoint client(request, choice.client);
  DynamicEndpoint server(other_side(request), choice.server);
  json address = json::parse(server.address());
  address["dckey"] = address["dckey"].get<std::uint64_t>() ^ 1U;
  client.connect(address.dump());
  server.connect(client.address());
  ASSERT_EQ(client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(client), -1);
  EXPECT_THAT(client.failure(), HasSubstr("DC target"));
  EXPECT_TRUE(take(server).empty());
}

TEST_F(Dc, APeerMustNameItsTargets) {
  const EndpointRequest request = over(Service::dc);
  const Choice choice = choice_for(request);
  DynamicEndpoint client(request, choice.client);
  const DynamicEndpoint server(other_side(request), choice.server);
  json address = json::parse(server.address());
  const auto refusal = [&](const json& with) {
    return std::string(complaint([&] { client.connect(with.dump()); }).what());
  };
  json changed = address;
  changed["queues"][0]["receiver"] = 0;
  EXPECT_THAT(refusal(changed), HasSubstr("no DC target"));
  changed = address;
  changed["queues"][0]["receiver"] = 1U << 24U;
  EXPECT_THAT(refusal(changed), HasSubstr("'receiver'"));
  changed = address;
  changed["dckey"] = -1;
  EXPECT_THAT(refusal(changed), HasSubstr("'dckey'"));
  changed.erase("dckey");
  EXPECT_THAT(refusal(changed), HasSubstr("no field 'dckey'"));
}

TEST_F(Dc, SaysWhatCompleteGave) {
  DynamicPair pair(over(Service::dc));
  ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  fake_verbs::fail(Call::wr_complete, 1, ENOMEM);  // full, but what is under way will make room
  EXPECT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::busy);
  EXPECT_EQ(poll_once(pair.client), 1);
  fake_verbs::fail(Call::wr_complete, 1, ENOMEM);
  EXPECT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), HasSubstr("ibv_wr_complete"));
}

TEST_F(Dc, IsRefusedByNameWhereTheDeviceHasNone) {
  fake_verbs::reset({fake_verbs::soft_roce()});
  const Error error = complaint([] { offer(over(Service::dc)); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("rxe0:1 has no DC"));
  fake_verbs::reset({fake_verbs::soft_roce(), fake_verbs::mlx5()});
  EXPECT_EQ(json::parse(offer(over(Service::dc)))["candidates"].size(), 1U);
}

TEST_F(Dc, ShowsAmongTheDevices) {
  fake_verbs::reset({fake_verbs::soft_roce(), fake_verbs::mlx5()});
  const std::vector<transport::DeviceInfo> lines = devices();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0].details, Not(Contains(Fact("dc", "yes"))));
  EXPECT_THAT(lines[1].details, Contains(Fact("dc", "yes")));
}

TEST_F(Dc, MayFailAndLeaveNothingBehind) {
  for (const Call call : {Call::create_srq, Call::create_qp, Call::modify_qp, Call::create_ah,
                          Call::post_recv, Call::reg_mr}) {
    every_failure<DynamicEndpoint>(over(Service::dc), call);
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::dynamic_test

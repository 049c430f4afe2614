// SRD: queue pairs of efadv, posted to by ibv_wr_post(3), with nothing in order.
#include <nlohmann/json.hpp>

#include "messages.h"

namespace rdmabench::inline v1::transport::verbs::scalable_test {
namespace {

using fake_verbs::Call;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ScalablePair = PairOf<ScalableEndpoint>;

constexpr std::uint32_t kNoRdma = 0b0010;
constexpr std::uint32_t kReadsOnly = 0b0011;

class Srd : public OnFakeVerbs {
 protected:
  Srd() { fake_verbs::reset({fake_verbs::efa()}); }

  static void reset_to(std::uint32_t capabilities) {
    fake_verbs::Device device = fake_verbs::efa();
    device.efa_capabilities = capabilities;
    fake_verbs::reset({device});
  }

  static Error refusal(const EndpointRequest& request) {
    const Choice choice = choice_for(over(Service::srd));
    return complaint([&] { const ScalableEndpoint endpoint(request, choice.client); });
  }

  /// How the window of an endpoint is registered.
  static int window_access(const ScalableEndpoint& endpoint) {
    const std::uint32_t key = json::parse(endpoint.address())["queues"][0]["key"];
    return fake_verbs::region(~key).access;
  }
};

TEST_F(Srd, MovesEverythingButAtomics) {
  ScalablePair pair(over(Service::srd));
  move_all(pair);
  const Description client = pair.client.describe();
  EXPECT_EQ(client.transport, "srd");
  EXPECT_EQ(client.completion, "acknowledged");
  EXPECT_THAT(client.details,
              AllOf(Contains(Fact("link_layer", "EFA")), Contains(Fact("post_api", "ibv_wr_*")),
                    Contains(Fact("inline", "32")),
                    Contains(Fact("rdma", "read, write, at most 1048576 bytes"))));
  static_assert(!ScalableEndpoint::supports<FetchAdd>);
  static_assert(!ScalableEndpoint::kOrdersMessages);
  EXPECT_EQ(pair.client.write_order().bytes, 0U);
}

TEST_F(Srd, CarriesSmallSendsInlineAndNothingElse) {
  EndpointRequest request = over(Service::srd);
  request.max_size = 32;
  ScalablePair pair(request);
  for (const OperationCode code : {OperationCode::send, OperationCode::write}) {
    memory::fill_pattern(slot(pair.client.send_region(), 0, 32), 5);
    const PostStatus status = code == OperationCode::send
                                  ? pair.client.post<Send>(0, 0, 32, 0, Signal::now)
                                  : pair.client.post<Write>(0, 0, 32, 0, Signal::now);
    ASSERT_EQ(status, PostStatus::posted) << pair.client.failure();
    EXPECT_EQ(poll_once(pair.client), 1);
  }
  EXPECT_TRUE(holds(slot(pair.server.window(), 0, 32), 5));
  EXPECT_EQ(take(pair.server).size(), 1U);
}

TEST_F(Srd, CountsCompletionsThatComeInNoOrder) {
  EndpointRequest request = over(Service::srd);
  request.signal_every = 4;
  ScalablePair pair(request);
  EXPECT_THAT(pair.client.describe().details, Contains(Fact("signal_every", "1")));
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_EQ(pair.client.post<SendImm>(0, 0, kSize, i, Signal::by_interval), PostStatus::posted);
  }
  EXPECT_EQ(pair.client.post<SendImm>(0, 0, kSize, 4, Signal::by_interval), PostStatus::busy);
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 4U);
  EXPECT_EQ(received[0].immediate, 3U);  // the fake's order, which is none that was asked for
  EXPECT_EQ(poll_once(pair.client), 4);
  EXPECT_EQ(pair.client.completed(), 4U);
  for (const Received& one : received) pair.server.post_receive(one.slot);
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_EQ(pair.client.post<SendImm>(0, 0, kSize, i, Signal::now), PostStatus::posted);
  }
  EXPECT_EQ(poll_once(pair.client), 4);
  EXPECT_EQ(pair.client.completed(), 8U);
}

TEST_F(Srd, HandsAListOverAtOnce) {
  EndpointRequest request = over(Service::srd);
  request.options.post_list = 3;
  ScalablePair pair(request);
  const Region from = pair.client.send_region();
  memory::fill_pattern(slot(from, 0, kSize), 9);
  const auto burst = messages(from, 0, 3, kSize, 0);
  ASSERT_EQ(pair.client.post_list<Write>(burst, Signal::by_interval), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 3);  // each completes
  EXPECT_TRUE(holds(slot(pair.server.window(), 0, kSize), 9));
  fake_verbs::fail(Call::wr_complete, 1, EINVAL);
  EXPECT_EQ(pair.client.post_list<Write>(burst, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), HasSubstr("ibv_wr_complete"));
  EXPECT_EQ(pair.client.posted(), 3U);
}

TEST_F(Srd, ReachesThePeersQueuePairOfEachQueuePair) {
  EndpointRequest request = over(Service::srd);
  request.options.queue_pairs = 3;
  ScalablePair pair(request);
  for (const std::uint32_t queue_pair : {2, 0, 1}) move<SendImm>(pair, queue_pair);
}

TEST_F(Srd, LetsThePeerDoWhatTheDeviceHas) {
  const EndpointRequest request = only(Service::srd);
  {
    const ScalablePair pair(request);
    EXPECT_EQ(window_access(pair.server),
              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  }
  reset_to(kReadsOnly);
  {
    ScalablePair pair(only(Service::srd, OperationCode::read));
    EXPECT_EQ(window_access(pair.server), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    move<Read>(pair);
  }
  reset_to(kNoRdma);
  ScalablePair pair(request);
  EXPECT_EQ(window_access(pair.server), IBV_ACCESS_LOCAL_WRITE);
  move<Send>(pair);
  EXPECT_THAT(pair.client.describe().details,
              Contains(Fact("rdma", "none, at most 1048576 bytes")));
}

TEST_F(Srd, RefusesByNameWhatTheDeviceLacks) {
  reset_to(kNoRdma);
  Error error = refusal(only(Service::srd, OperationCode::read));
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), has_all("read over SRD on efa_0", "RDMA read"));
  reset_to(kReadsOnly);
  error = refusal(only(Service::srd, OperationCode::write_imm));
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("write-imm over SRD on efa_0"));
}

TEST_F(Srd, HoldsSizesAgainstTheDevicesTwoLimits) {
  EndpointRequest request = over(Service::srd);
  request.max_size = 9000;
  EXPECT_THAT(refusal(request).what(), HasSubstr("max_msg_sz is 8928"));
  request.operations = OperationCode::write;
  const Choice choice = choice_for(request);
  { const ScalableEndpoint endpoint(request, choice.client); }
  request.max_size = (1U << 20) + 1;
  EXPECT_THAT(refusal(request).what(), HasSubstr("max_rdma_size is 1048576"));
  request = over(Service::srd, OperationCode::read);
  request.options.segments = 2;
  EXPECT_THAT(refusal(request).what(), HasSubstr("max_sge_rd is 1"));
  request.operations = OperationCode::send;
  { const ScalableEndpoint endpoint(request, choice.client); }
}

TEST_F(Srd, HasNoSharedReceiveQueue) {
  EndpointRequest request = over(Service::srd);
  request.options.verbs.shared_receives = true;
  EXPECT_EQ(complaint([&] { offer(request); }).fault(), Fault::usage);
}

TEST_F(Srd, AnotherKeyIsNotAnswered) {
  const EndpointRequest request = over(Service::srd);
  const Choice choice = choice_for(request);
  ScalableEndpoint client(request, choice.client);
  ScalableEndpoint server(other_side(request), choice.server);
  json address = json::parse(server.address());
  address["qkey"] = address["qkey"].get<std::uint32_t>() ^ 1U;
  client.connect(address.dump());
  server.connect(client.address());
  ASSERT_EQ(client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(client), -1);
  EXPECT_TRUE(take(server).empty());
}

TEST_F(Srd, SaysHowOftenToRetryWhereTheDeviceListens) {
  EndpointRequest request = over(Service::srd);
  request.options.verbs.path.rnr_retry_count = 3;
  const auto retries = [&] {
    const ScalablePair pair(request);
    const std::uint32_t number = json::parse(pair.client.address())["queues"][0]["qpn"];
    return fake_verbs::attributes(number).rnr_retry;
  };
  EXPECT_EQ(retries(), 3);
}

TEST_F(Srd, IsChosenByGidAndOnEfaAlone) {
  const EndpointRequest request = over(Service::srd);
  EXPECT_THAT(choice_for(request).reason, HasSubstr("GID 0 fe80::e:fa (efa_0:1)"));
  fake_verbs::reset({fake_verbs::soft_roce()});
  const Error error = complaint([&] { offer(request); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("rxe0:1 has no SRD"));
  fake_verbs::reset({fake_verbs::efa()});
  EXPECT_THAT(complaint([] { offer(over(Service::rc)); }).what(),
              has_all("efa_0:1 cannot connect RC", "rdma_cm"));
}

TEST_F(Srd, MayFailAndLeaveNothingBehind) {
  for (const Call call : {Call::create_qp, Call::modify_qp, Call::create_ah, Call::post_recv}) {
    every_failure<ScalableEndpoint>(over(Service::srd), call);
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::scalable_test

// What a device says beside its completions ends a run by name.
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "pair.h"
#include "rdmabench/workload/epoch_io.h"

namespace rdmabench::inline v1::transport::verbs::device_events_test {
namespace {

using namespace std::chrono_literals;
using fake_verbs::Call;
using fake_verbs::report;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using workload::EpochIo;
using workload::EpochResult;
using workload::Outcome;
using workload::Wait;
using workload::Watch;

std::uint32_t number_of(const Core& endpoint) {
  return nlohmann::json::parse(endpoint.address())["queues"][0]["qpn"];
}

/// Waits for what was posted, as each loop does.
template <class T>
EpochResult wait_for_completions(T& endpoint, bool events = false) {
  EpochResult result;
  Watch watch(20s, nullptr);
  EpochIo<T> io(endpoint, {.receives = 4, .events = events}, watch, result);
  io.drain();
  return result;
}

class DeviceEvents : public OnFakeVerbs {};

TEST_F(DeviceEvents, AFailedDeviceEndsAWaitOnceItIsNamed) {
  Pair pair;
  report(IBV_EVENT_DEVICE_FATAL);
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  const EpochResult result = wait_for_completions(pair.client);
  EXPECT_EQ(result.outcome, Outcome::completion_failed);
  EXPECT_EQ(result.wait, Wait::completion);
  EXPECT_THAT(pair.client.failure(),
              has_all("rxe0 reported IBV_EVENT_DEVICE_FATAL (the device failed)", "dmesg",
                      "On rxe0:1 10.0.0.1"));
  EXPECT_EQ(pair.client.failed_call().call, "ibv_get_async_event");
  EXPECT_EQ(pair.client.failed_call().status, "IBV_EVENT_DEVICE_FATAL");
}

TEST_F(DeviceEvents, AreSeenWhereTheWaiterSleeps) {
  EndpointRequest request = small_request();
  request.options.events = true;
  GeneralPair pair(request);
  report(IBV_EVENT_DEVICE_FATAL);
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(wait_for_completions(pair.client, true).outcome, Outcome::completion_failed);
}

TEST_F(DeviceEvents, OfAQueuePairNameIt) {
  for (const auto& [type, name] : {std::pair(IBV_EVENT_QP_FATAL, "IBV_EVENT_QP_FATAL"),
                                   std::pair(IBV_EVENT_QP_REQ_ERR, "IBV_EVENT_QP_REQ_ERR"),
                                   std::pair(IBV_EVENT_QP_ACCESS_ERR, "IBV_EVENT_QP_ACCESS_ERR"),
                                   std::pair(IBV_EVENT_PATH_MIG_ERR, "IBV_EVENT_PATH_MIG_ERR")}) {
    Pair pair;
    EXPECT_FALSE(pair.server.device_failed());
    report(type, number_of(pair.server));
    EXPECT_TRUE(pair.server.device_failed()) << name;
    EXPECT_FALSE(pair.client.device_failed()) << name;  // it is another's
    EXPECT_THAT(pair.server.failure(),
                has_all(name, fmt::format("queue pair {}: ", number_of(pair.server))));
    EXPECT_EQ(pair.server.failed_call().status, name);
  }
}

TEST_F(DeviceEvents, OfQueuesEndAWaitToo) {
  for (const ibv_event_type type : {IBV_EVENT_CQ_ERR, IBV_EVENT_SRQ_ERR}) {
    Pair pair;
    report(type);
    EXPECT_TRUE(pair.server.device_failed());
    EXPECT_THAT(pair.server.failure(), HasSubstr("queue"));
  }
}

TEST_F(DeviceEvents, OfAHealthyRunEndNothing) {
  Pair pair;
  report(IBV_EVENT_COMM_EST, number_of(pair.server));
  report(IBV_EVENT_SQ_DRAINED, number_of(pair.server));
  report(IBV_EVENT_PATH_MIG, number_of(pair.server));
  report(IBV_EVENT_SRQ_LIMIT_REACHED);
  report(IBV_EVENT_SM_CHANGE);
  report(IBV_EVENT_CLIENT_REREGISTER);
  report(IBV_EVENT_PORT_ERR, 2);  // not the port that is used
  EXPECT_FALSE(pair.server.device_failed());
  EXPECT_EQ(pair.server.device_report(), "");
  EXPECT_EQ(pair.server.failure(), "nothing failed");
  EXPECT_EQ(pair.server.failed_call().call, "");
}

// RC sends again until its retries are over: a link that comes back in time ends nothing.
TEST_F(DeviceEvents, ALinkThatIsDownExplainsWhatItEndedAndEndsNothing) {
  Pair pair;
  report(IBV_EVENT_PORT_ERR);
  EXPECT_FALSE(pair.client.device_failed());
  EXPECT_THAT(pair.client.device_report(),
              has_all("rxe0 reported IBV_EVENT_PORT_ERR (port 1", "cable"));
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(wait_for_completions(pair.client).outcome, Outcome::ok);
  fake_verbs::fail_message(IBV_WC_RETRY_EXC_ERR);
  report(IBV_EVENT_PORT_ACTIVE);
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(wait_for_completions(pair.client).outcome, Outcome::completion_failed);
  EXPECT_THAT(pair.client.failure(), has_all("IBV_WC_RETRY_EXC_ERR", "IBV_EVENT_PORT_ERR",
                                             "IBV_EVENT_PORT_ACTIVE (port 1: the link came up)"));
  EXPECT_EQ(pair.client.failed_call().status, "IBV_WC_RETRY_EXC_ERR");
}

// irdma and bnxt_re report each queue pair that goes into the error state, whatever put it there.
TEST_F(DeviceEvents, OfAQueuePairAreTheEffectOfACompletionThatFailed) {
  Pair pair;
  fake_verbs::fail_message(IBV_WC_RETRY_EXC_ERR);
  report(IBV_EVENT_QP_FATAL, number_of(pair.client));
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), -1);
  EXPECT_THAT(pair.client.failure(),
              testing::ContainsRegex("^post 0: .*IBV_WC_RETRY_EXC_ERR.* IBV_EVENT_QP_FATAL "));
  EXPECT_EQ(pair.client.failed_call().call, "ibv_poll_cq");
  EXPECT_EQ(pair.client.failed_call().status, "IBV_WC_RETRY_EXC_ERR");
}

TEST_F(DeviceEvents, OfADeviceOrAQueueAreTheCauseOfACompletionThatFailed) {
  for (const auto& [type, name] : {std::pair(IBV_EVENT_DEVICE_FATAL, "IBV_EVENT_DEVICE_FATAL"),
                                   std::pair(IBV_EVENT_CQ_ERR, "IBV_EVENT_CQ_ERR"),
                                   std::pair(IBV_EVENT_SRQ_ERR, "IBV_EVENT_SRQ_ERR")}) {
    fake_verbs::reset();
    Pair pair;
    fake_verbs::fail_message(IBV_WC_RETRY_EXC_ERR);
    ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
    EXPECT_EQ(poll_once(pair.client), -1);
    report(IBV_EVENT_QP_FATAL, number_of(pair.client));
    report(type);
    EXPECT_THAT(pair.client.failure(),
                AllOf(HasSubstr("rxe0 reported " + std::string(name)),
                      testing::ContainsRegex("Then post 0: .*IBV_WC_RETRY_EXC_ERR")));
    EXPECT_EQ(pair.client.failed_call().status, name);
  }
}

TEST_F(DeviceEvents, AreTheCauseOfWhatWasFlushed) {
  Pair pair;
  fake_verbs::fail_message(IBV_WC_WR_FLUSH_ERR);
  report(IBV_EVENT_QP_FATAL, number_of(pair.client));
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), -1);
  EXPECT_THAT(pair.client.failure(),
              testing::ContainsRegex("IBV_EVENT_QP_FATAL .* Then post 0: .*IBV_WC_WR_FLUSH_ERR"));
}

TEST_F(DeviceEvents, BlameTheCableForALinkOnly) {
  for (const ibv_event_type type :
       {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_LID_CHANGE, IBV_EVENT_PKEY_CHANGE, IBV_EVENT_GID_CHANGE}) {
    Pair pair;
    report(type);
    EXPECT_THAT(pair.client.device_report(), AllOf(HasSubstr("dmesg"), Not(HasSubstr("cable"))));
  }
}

TEST_F(DeviceEvents, AreEachOfTheirOwnQueuePair) {
  EndpointRequest request = small_request();
  request.options.queue_pairs = 2;
  GeneralPair pair(request);
  const auto queues = nlohmann::json::parse(pair.server.address())["queues"];
  const std::uint32_t first = queues[0]["qpn"];
  const std::uint32_t second = queues[1]["qpn"];
  report(IBV_EVENT_QP_FATAL, first);
  report(IBV_EVENT_QP_ACCESS_ERR, second);
  EXPECT_THAT(pair.server.failure(),
              has_all(fmt::format("IBV_EVENT_QP_FATAL (queue pair {}: ", first),
                      fmt::format("IBV_EVENT_QP_ACCESS_ERR (queue pair {}: ", second)));
}

TEST_F(DeviceEvents, OfALastRequestExplainNothingWhereACompletionFailed) {
  Pair pair;
  report(IBV_EVENT_QP_LAST_WQE_REACHED, number_of(pair.client));
  EXPECT_THAT(pair.client.device_report(), HasSubstr("IBV_EVENT_QP_LAST_WQE_REACHED"));
  fake_verbs::fail_message(IBV_WC_RETRY_EXC_ERR);
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), -1);
  EXPECT_THAT(pair.client.failure(),
              AllOf(HasSubstr("IBV_WC_RETRY_EXC_ERR"), Not(HasSubstr("reported"))));
}

/// Makes the device one of a driver's.
void become(const Folder& sysfs, const std::string& driver) {
  sysfs.link("device/driver", "/sys/bus/pci/drivers/" + driver);
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.sysfs = sysfs.path();
  fake_verbs::reset({device});
}

TEST_F(DeviceEvents, AreNotReadWhereTheLibraryTakesASharedQueueForAQueuePair) {
  const Folder sysfs;
  become(sysfs, "bnxt_en");
  EndpointRequest request = small_request();
  request.options.verbs.shared_receives = true;
  GeneralPair shared(request);
  report(IBV_EVENT_SRQ_ERR);
  EXPECT_FALSE(shared.server.device_failed());
  EXPECT_EQ(fake_verbs::calls(Call::get_async_event), 0);
  Pair plain;
  report(IBV_EVENT_QP_FATAL, number_of(plain.server));
  EXPECT_TRUE(plain.server.device_failed());
}

TEST_F(DeviceEvents, AreNotReadWhereTheLibraryPrintsEach) {
  const Folder sysfs;
  become(sysfs, "qede");
  Pair pair;
  report(IBV_EVENT_PORT_ACTIVE);
  EXPECT_FALSE(pair.server.device_failed());
  EXPECT_EQ(pair.server.failure(), "nothing failed");
  EXPECT_EQ(fake_verbs::calls(Call::get_async_event), 0);
}

TEST_F(DeviceEvents, ADeviceThatTheKernelTookAwayHasFailed) {
  Pair pair;
  fake_verbs::fail(Call::get_async_event, 1, EIO);
  EXPECT_TRUE(pair.client.device_failed());
  EXPECT_THAT(pair.client.failure(), has_all("ibv_get_async_event", "EIO"));
  EXPECT_TRUE(pair.client.device_failed());
}

TEST_F(DeviceEvents, AreNotAskedForWhileMessagesComplete) {
  Pair pair;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
    ASSERT_EQ(wait_for_completions(pair.client).outcome, Outcome::ok);
    for (const Received& one : take(pair.server)) pair.server.post_receive(one.slot);
  }
  EXPECT_EQ(fake_verbs::calls(Call::get_async_event), 0);
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::device_events_test

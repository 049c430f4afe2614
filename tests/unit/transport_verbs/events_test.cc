// An endpoint that sleeps until something completes.
#include <chrono>
#include <thread>

#include "pair.h"

namespace rdmabench::inline v1::transport::verbs::events_test {
namespace {

using namespace std::chrono_literals;
using fake_verbs::Call;
using ::testing::HasSubstr;

EndpointRequest with_events() {
  EndpointRequest request = small_request();
  request.options.events = true;
  return request;
}

class Events : public OnFakeVerbs {};

TEST_F(Events, WakeTheWaiter) {
  GeneralPair pair(with_events());
  EXPECT_EQ(poll_once(pair.server), 0);
  EXPECT_TRUE(pair.server.wait_for_event(1h));  // arms only: what came before makes no event
  EXPECT_EQ(poll_once(pair.server), 0);
  std::thread peer([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  });
  EXPECT_TRUE(pair.server.wait_for_event(10s));
  EXPECT_EQ(take(pair.server).size(), 1U);
  peer.join();
  EXPECT_EQ(poll_once(pair.client), 1);
}

TEST_F(Events, AreNotLostBetweenAskingAndSleeping) {
  GeneralPair pair(with_events());
  for (int round = 0; round < 200; ++round) {
    ASSERT_EQ(poll_once(pair.server), 0);
    ASSERT_TRUE(pair.server.wait_for_event(1h));
    if (round % 2 == 0) {
      ASSERT_EQ(poll_once(pair.server), 0);
    }
    ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
    ASSERT_TRUE(pair.server.wait_for_event(1h));  // would sleep for an hour if the event were lost
    const std::vector<Received> received = take(pair.server);
    ASSERT_EQ(received.size(), 1U);
    pair.server.post_receive(received[0].slot);
    ASSERT_EQ(poll_once(pair.client), 1);
  }
  // The events of 200 rounds were acknowledged: the fake says so when the queue goes.
}

TEST_F(Events, ComeFromBothCompletionQueues) {
  EndpointRequest request = with_events();
  request.options.separate_queues = true;
  GeneralPair pair(request);
  EXPECT_TRUE(pair.client.wait_for_event(1h));
  EXPECT_TRUE(pair.server.wait_for_event(1h));
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_TRUE(pair.client.wait_for_event(1h));
  EXPECT_TRUE(pair.server.wait_for_event(1h));
  EXPECT_EQ(poll_once(pair.client), 1);
  EXPECT_EQ(take(pair.server).size(), 1U);
}

TEST_F(Events, HaveADeadline) {
  GeneralPair pair(with_events());
  EXPECT_TRUE(pair.client.wait_for_event(1h));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(pair.client.wait_for_event(20ms));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 19ms);
}

TEST_F(Events, WorkForDatagrams) {
  EndpointRequest request = with_events();
  request.options.service = Service::ud;
  DatagramPair pair(request);
  EXPECT_TRUE(pair.server.wait_for_event(1h));
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_TRUE(pair.server.wait_for_event(1h));
  EXPECT_EQ(take(pair.server).size(), 1U);
}

TEST_F(Events, ThatFailSaySo) {
  GeneralPair pair(with_events());
  fake_verbs::fail(Call::req_notify_cq, 1, EIO);
  EXPECT_FALSE(pair.client.wait_for_event(1h));
  EXPECT_THAT(pair.client.failure(), has_all("ibv_req_notify_cq", "EIO"));
  EXPECT_TRUE(pair.server.wait_for_event(1h));
  ASSERT_EQ(pair.client.post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  fake_verbs::fail(Call::get_cq_event, 1, EIO);
  EXPECT_FALSE(pair.server.wait_for_event(1h));
  EXPECT_THAT(pair.server.failure(), HasSubstr("ibv_get_cq_event"));
}

TEST_F(Events, AreOfAVectorThatTheDeviceHas) {
  EndpointRequest request = with_events();
  request.options.verbs.completion_vector = 1;
  const GeneralPair pair(request);
  request.options.verbs.completion_vector = 2;
  const Choice choice = choice_for(request);
  EXPECT_THAT(complaint([&] { const GeneralEndpoint endpoint(request, choice.client); }).what(),
              has_all("completion vector 2", "It has 2"));
  fake_verbs::fail(Call::create_comp_channel, 1, EMFILE);
  request.options.verbs.completion_vector = 0;
  EXPECT_THAT(complaint([&] { const GeneralEndpoint endpoint(request, choice.client); }).what(),
              has_all("ibv_create_comp_channel(rxe0)", "ulimit -n"));
}

TEST_F(Events, OfTheWorkersOfASideGoToDifferentVectors) {
  EndpointRequest request = with_events();
  const Choice choice = choice_for(request);
  const GeneralEndpoint first(request, choice.client);
  request.worker = 1;
  const GeneralEndpoint second(request, choice.client);
  EXPECT_EQ(fake_verbs::vectors(), (std::multiset<int>{0, 1}));
  request.worker = 2;  // the device has two vectors
  const GeneralEndpoint third(request, choice.client);
  EXPECT_EQ(fake_verbs::vectors(), (std::multiset<int>{0, 0, 1}));
  request.options.verbs.completion_vector = 1;
  const GeneralEndpoint fourth(request, choice.client);
  EXPECT_EQ(fake_verbs::vectors(), (std::multiset<int>{0, 0, 1, 1}));
}

TEST_F(Events, CostNothingWhereNoneWereAskedFor) {
  Pair pair;
  EXPECT_TRUE(pair.client.wait_for_event(1h));
  EXPECT_TRUE(pair.client.wait_for_event(1h));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::events_test

#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "pair.h"
#include "rdmabench/memory/pattern.h"

namespace rdmabench::transport::verbs::data_path_test {
namespace {

using fake_verbs::Call;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kSize = 100;

class DataPath : public OnFakeVerbs {};

void post_all(Endpoint& endpoint, int count, Signal signal = Signal::now) {
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(endpoint.post<Send>(0, 0, signal), PostStatus::posted) << i;
  }
}

TEST_F(DataPath, SendLandsInTheReceiveSlots) {
  Pair pair;
  pair.client.prepare(OperationCode::send, kSize);
  for (std::uint32_t i = 0; i < 2; ++i) {
    memory::fill_pattern(slot(pair.client.send_region(), i, kSize), static_cast<std::uint8_t>(i));
    ASSERT_EQ(pair.client.post<Send>(i * pair.client.send_region().stride, 0, Signal::now),
              PostStatus::posted);
  }
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 2U);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(received[i].slot, i);
    EXPECT_EQ(received[i].bytes, kSize);
    EXPECT_EQ(received[i].immediate, 0U);
    EXPECT_TRUE(holds(slot(pair.server.receive_region(), i, kSize), static_cast<std::uint8_t>(i)));
  }
  EXPECT_EQ(poll_once(pair.client), 2);
  EXPECT_EQ(pair.client.completed(), pair.client.posted());
}

TEST_F(DataPath, MoreReceivesThanSlotsShareThem) {
  Pair pair;
  pair.client.prepare(OperationCode::send, kSize);
  for (std::uint32_t i = 0; i < 4; ++i) {
    memory::fill_pattern(slot(pair.client.send_region(), 0, kSize), static_cast<std::uint8_t>(i));
    ASSERT_EQ(pair.client.post<Send>(0, 0, Signal::now), PostStatus::posted);
  }
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 4U);
  EXPECT_EQ(received[3].slot, 3U);
  EXPECT_TRUE(holds(slot(pair.server.receive_region(), 3 % 2, kSize), 3));
}

TEST_F(DataPath, ReceivesOfOnePollGoBackTogether) {
  Pair pair;
  pair.client.prepare(OperationCode::send, kSize);
  for (int round = 0; round < 5; ++round) {  // more messages in all than there are receives
    post_all(pair.client, 4);
    std::vector<std::uint32_t> slots;
    EXPECT_EQ(pair.server.poll([&](const Received& received) noexcept {
      slots.push_back(received.slot);
      pair.server.defer_receive(received.slot);
    }),
              4);
    EXPECT_EQ(slots, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(poll_once(pair.client), 4);
  }
}

TEST_F(DataPath, AReceiveThatCannotGoBackFailsThePoll) {
  Pair pair;
  pair.client.prepare(OperationCode::send, kSize);
  post_all(pair.client, 1);
  fake_verbs::fail(fake_verbs::Call::post_recv, 1, ENOMEM);
  EXPECT_EQ(pair.server.poll([&](const Received& received) noexcept {
    pair.server.defer_receive(received.slot);
  }),
            -1);
  EXPECT_THAT(pair.server.failure(), ::testing::HasSubstr("ibv_post_recv"));
}

TEST_F(DataPath, WriteLandsInTheWindowAtTheSameOffsetAndTellsNobody) {
  Pair pair;
  pair.client.prepare(OperationCode::write, kSize);
  memory::fill_pattern(slot(pair.client.send_region(), 1, kSize), 7);
  ASSERT_EQ(pair.client.post<Write>(pair.client.send_region().stride, 0, Signal::now),
            PostStatus::posted);
  EXPECT_TRUE(holds(slot(pair.server.window(), 1, kSize), 7));
  EXPECT_TRUE(take(pair.server).empty());
  EXPECT_EQ(poll_once(pair.client), 1);
}

TEST_F(DataPath, WriteWithImmediateLandsInTheWindowAndNotifies) {
  Pair pair;
  pair.client.prepare(OperationCode::write_imm, kSize);
  memory::fill_pattern(slot(pair.client.send_region(), 1, kSize), 9);
  ASSERT_EQ(pair.client.post<WriteImm>(pair.client.send_region().stride, 0x01020304, Signal::now),
            PostStatus::posted);
  EXPECT_TRUE(holds(slot(pair.server.window(), 1, kSize), 9));
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].immediate, 0x01020304U);
  EXPECT_EQ(received[0].bytes, kSize);
}

TEST_F(DataPath, ReadFetchesFromTheWindow) {
  Pair pair;
  pair.client.prepare(OperationCode::read, kSize);
  memory::fill_pattern(slot(pair.server.window(), 1, kSize), 5);
  ASSERT_EQ(pair.client.post<Read>(pair.client.send_region().stride, 0, Signal::now),
            PostStatus::posted);
  EXPECT_TRUE(holds(slot(pair.client.send_region(), 1, kSize), 5));
  EXPECT_TRUE(take(pair.server).empty());
}

TEST_F(DataPath, ATokenIsAMessageOfNoBytesAndLeavesThePreparedOneAlone) {
  Pair pair;
  pair.client.prepare(OperationCode::write, kSize);
  memory::fill_pattern(slot(pair.client.send_region(), 0, kSize), 1);
  ASSERT_EQ(pair.client.post<Write>(0, 0, Signal::now), PostStatus::posted);
  ASSERT_EQ(pair.client.post_token(Signal::now), PostStatus::posted);
  memory::fill_pattern(slot(pair.client.send_region(), 0, kSize), 2);
  ASSERT_EQ(pair.client.post<Write>(0, 0, Signal::now), PostStatus::posted);
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].bytes, 0U);
  EXPECT_EQ(received[0].immediate, 0U);
  EXPECT_TRUE(holds(slot(pair.server.window(), 0, kSize), 2));
  EXPECT_EQ(poll_once(pair.client), 3);
  EXPECT_EQ(pair.client.completed(), 3U);
}

TEST_F(DataPath, CompletionsComeAtTheIntervalAndNow) {
  EndpointRequest request = small_request();
  request.depth = 8;
  request.receives = 8;
  request.signal_every = 3;
  Pair pair(request);
  pair.client.prepare(OperationCode::send, kSize);
  post_all(pair.client, 2, Signal::by_interval);
  EXPECT_EQ(poll_once(pair.client), 0);
  post_all(pair.client, 1, Signal::by_interval);
  EXPECT_EQ(poll_once(pair.client), 1);
  EXPECT_EQ(pair.client.completed(), 3U);  // one completion stands for three posts
  post_all(pair.client, 1, Signal::by_interval);
  post_all(pair.client, 1, Signal::now);  // begins a new interval
  EXPECT_EQ(poll_once(pair.client), 1);
  EXPECT_EQ(pair.client.completed(), 5U);
  post_all(pair.client, 2, Signal::by_interval);
  EXPECT_EQ(poll_once(pair.client), 0);
  post_all(pair.client, 1, Signal::by_interval);
  EXPECT_EQ(poll_once(pair.client), 1);
  EXPECT_EQ(pair.client.completed(), 8U);
}

TEST_F(DataPath, AFullQueueIsBusyUntilACompletionIsTaken) {
  Pair pair;
  pair.client.prepare(OperationCode::send, kSize);
  post_all(pair.client, 4);
  EXPECT_EQ(pair.client.post<Send>(0, 0, Signal::now), PostStatus::busy);
  EXPECT_EQ(pair.client.post_token(Signal::now), PostStatus::busy);
  EXPECT_EQ(pair.client.posted(), 4U);
  EXPECT_EQ(poll_once(pair.client), 4);
  for (const Received& received : take(pair.server)) pair.server.post_receive(received.slot);
  post_all(pair.client, 4);
  EXPECT_EQ(take(pair.server).size(), 4U);
}

TEST_F(DataPath, AQueueTheDriverCallsFullIsBusyWhileItCanEmpty) {
  EndpointRequest request = small_request();
  request.signal_every = 4;
  Pair pair(request);
  pair.client.prepare(OperationCode::send, kSize);
  fake_verbs::fail(Call::post_send, 2, ENOMEM);
  post_all(pair.client, 1, Signal::by_interval);
  EXPECT_EQ(pair.client.post<Send>(0, 0, Signal::by_interval), PostStatus::busy);
  EXPECT_EQ(pair.client.posted(), 1U);
  post_all(pair.client, 1, Signal::by_interval);
  EXPECT_EQ(poll_once(pair.client), 1);  // the post after a refusal asks for a completion
  EXPECT_EQ(pair.client.completed(), 2U);
}

TEST_F(DataPath, AQueueFullOfNothingHasFailed) {
  Pair pair;
  pair.client.prepare(OperationCode::send, kSize);
  fake_verbs::fail(Call::post_send, 1, ENOMEM);
  EXPECT_EQ(pair.client.post<Send>(0, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), AllOf(HasSubstr("ibv_post_send"), HasSubstr("ENOMEM")));
}

TEST_F(DataPath, ARefusedPostFails) {
  Pair pair;
  pair.client.prepare(OperationCode::send, kSize);
  fake_verbs::fail(Call::post_send, 1, EINVAL);
  EXPECT_EQ(pair.client.post<Send>(0, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), AllOf(HasSubstr("ibv_post_send"), HasSubstr("EINVAL")));
  fake_verbs::fail(Call::post_recv, 1, EINVAL);
  EXPECT_EQ(pair.server.post_receive(0), PostStatus::failed);
  EXPECT_THAT(pair.server.failure(), HasSubstr("ibv_post_recv"));
}

TEST_F(DataPath, AFailedMessageIsExplainedAndWhatIsFlushedAfterItIsNot) {
  Pair pair;
  pair.client.prepare(OperationCode::send, kSize);
  post_all(pair.client, 1);
  fake_verbs::fail_message(IBV_WC_RETRY_EXC_ERR, 0x81);
  post_all(pair.client, 3, Signal::by_interval);
  EXPECT_EQ(poll_once(pair.client), -1);
  EXPECT_EQ(pair.client.completed(), 1U);
  while (poll_once(pair.client) != 0) {
  }
  EXPECT_THAT(
      pair.client.failure(),
      AllOf(HasSubstr("post 1: "), HasSubstr("IBV_WC_RETRY_EXC_ERR"), HasSubstr("0x81"),
            HasSubstr("GID index"), HasSubstr("rxe0:1 10.0.0.1"), HasSubstr("path MTU 1024")));
}

TEST_F(DataPath, ReceivesFlushedByALostLinkFail) {
  Pair pair;
  EXPECT_EQ(pair.server.failure(), "nothing failed");
  fake_verbs::break_queue_pair(nlohmann::json::parse(pair.server.address())["queues"][0]["qpn"]);
  EXPECT_EQ(poll_once(pair.server), -1);
  EXPECT_THAT(pair.server.failure(),
              AllOf(HasSubstr("receive 0: "), HasSubstr("IBV_WC_WR_FLUSH_ERR")));
}

TEST_F(DataPath, APeerThatIsGoneIsAFailedPost) {
  const EndpointRequest request = small_request();
  const Choice choice = choice_for(request);
  Endpoint client(request, choice.client);
  {
    Endpoint server(other_side(request), choice.server);
    server.connect(client.address());
    client.connect(server.address());
  }
  client.prepare(OperationCode::write, kSize);
  EXPECT_EQ(client.post<Write>(0, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(client), -1);
  EXPECT_THAT(client.failure(), HasSubstr("did not acknowledge"));
}

TEST_F(DataPath, APollThatFailsSaysSo) {
  Pair pair;
  fake_verbs::fail(Call::poll_cq, 1, EIO);
  EXPECT_EQ(poll_once(pair.client), -1);
  EXPECT_THAT(pair.client.failure(), AllOf(HasSubstr("ibv_poll_cq"), HasSubstr("EIO")));
}

TEST_F(DataPath, SmallMessagesAreInlineAndLargerOnesAreNot) {
  EndpointRequest request = small_request();
  request.inline_limit = 64;
  Pair pair(request);
  // The target has no receive left, so the message is carried out after its buffer has changed.
  pair.client.prepare(OperationCode::send, 8);
  post_all(pair.client, 4);
  EXPECT_EQ(poll_once(pair.client), 4);
  for (const std::uint64_t size : {64, 65}) {
    pair.client.prepare(OperationCode::send, size);
    memory::fill_pattern(slot(pair.client.send_region(), 0, size), 1);
    ASSERT_EQ(pair.client.post<Send>(0, 0, Signal::now), PostStatus::posted);
    memory::fill_pattern(slot(pair.client.send_region(), 0, size), 2);
    pair.server.post_receive(0);
    EXPECT_EQ(poll_once(pair.client), 1);
    const bool taken_at_once = size <= 64;
    EXPECT_TRUE(holds(slot(pair.server.receive_region(), 0, size), taken_at_once ? 1 : 2)) << size;
  }
}

TEST_F(DataPath, TheNextSizeBeginsItsCountsAnew) {
  Pair pair;
  pair.client.prepare(OperationCode::send, kSize);
  post_all(pair.client, 2);
  EXPECT_EQ(complaint([&] { pair.client.prepare(OperationCode::send, 8); }).fault(), Fault::failed);
  EXPECT_EQ(poll_once(pair.client), 2);
  pair.client.prepare(OperationCode::send, 8);
  EXPECT_EQ(pair.client.posted(), 0U);
  EXPECT_EQ(pair.client.completed(), 0U);
  post_all(pair.client, 1);
  EXPECT_EQ(poll_once(pair.client), 1);
  EXPECT_EQ(pair.client.completed(), 1U);
}

TEST_F(DataPath, RefusesSizesItWasNotOpenedFor) {
  Pair pair;
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{257}}) {
    const Error error = complaint([&] { pair.client.prepare(OperationCode::send, size); });
    EXPECT_EQ(error.fault(), Fault::usage);
    EXPECT_THAT(error.what(), HasSubstr("1 to 256"));
  }
}

TEST_F(DataPath, TwoThreadsPlayPingPong) {
  Pair pair;
  constexpr std::uint32_t kRounds = 200;
  const auto play = [](Endpoint& endpoint, bool first) {
    endpoint.prepare(OperationCode::send, kSize);
    if (first) {
      EXPECT_EQ(endpoint.post<Send>(0, 0, Signal::now), PostStatus::posted);
    }
    for (std::uint32_t round = 0; round < kRounds;) {
      const int seen = endpoint.poll([&](const Received& received) noexcept {
        ++round;
        endpoint.post_receive(received.slot);
      });
      ASSERT_GE(seen, 0) << endpoint.failure();
      const std::uint64_t due = round + (first ? 1U : 0U);
      if (endpoint.posted() < due && due <= kRounds) {
        ASSERT_EQ(endpoint.post<Send>(0, 0, Signal::now), PostStatus::posted);
      }
    }
  };
  std::thread server([&] { play(pair.server, false); });
  play(pair.client, true);
  server.join();
  EXPECT_EQ(pair.server.posted(), kRounds);
}

}  // namespace
}  // namespace rdmabench::transport::verbs::data_path_test

#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "messages.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::transport::verbs::data_path_test {
namespace {

using fake_verbs::Call;
using ::testing::HasSubstr;

class DataPath : public OnFakeVerbs {};

void post_all(Endpoint& endpoint, int count, Signal signal = Signal::now) {
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(endpoint.post<Send>(0, 0, kSize, 0, signal), PostStatus::posted) << i;
  }
}

TEST_F(DataPath, SendLandsInTheReceiveSlots) {
  Pair pair;
  for (std::uint32_t i = 0; i < 2; ++i) {
    memory::fill_pattern(slot(pair.client.send_region(), i, kSize), static_cast<std::uint8_t>(i));
    ASSERT_EQ(pair.client.post<Send>(i * pair.client.send_region().stride,
                                     i * pair.client.send_region().stride, kSize, 0, Signal::now),
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
  for (std::uint32_t i = 0; i < 4; ++i) {
    memory::fill_pattern(slot(pair.client.send_region(), 0, kSize), static_cast<std::uint8_t>(i));
    ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  }
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 4U);
  EXPECT_EQ(received[3].slot, 3U);
  EXPECT_TRUE(holds(slot(pair.server.receive_region(), 3 % 2, kSize), 3));
}

TEST_F(DataPath, ReceivesOfOnePollGoBackTogether) {
  Pair pair;
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
  post_all(pair.client, 1);
  fake_verbs::fail(fake_verbs::Call::post_recv, 1, ENOMEM);
  EXPECT_EQ(pair.server.poll([&](const Received& received) noexcept {
    pair.server.defer_receive(received.slot);
  }),
            -1);
  EXPECT_THAT(pair.server.failure(), ::testing::HasSubstr("ibv_post_recv"));
}

TEST_F(DataPath, EveryOperationLandsAtTheSameOffset) {
  Pair pair;
  move_all(pair);
}

TEST_F(DataPath, ATokenIsAMessageOfNoBytesAndLeavesThePreparedOneAlone) {
  Pair pair;
  memory::fill_pattern(slot(pair.client.send_region(), 0, kSize), 1);
  ASSERT_EQ(pair.client.post<Write>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  ASSERT_EQ(pair.client.post<Send>(0, 0, 0, 0, Signal::now), PostStatus::posted);
  memory::fill_pattern(slot(pair.client.send_region(), 0, kSize), 2);
  ASSERT_EQ(pair.client.post<Write>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
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
  post_all(pair.client, 4);
  EXPECT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::busy);
  EXPECT_EQ(pair.client.post<Send>(0, 0, 0, 0, Signal::now), PostStatus::busy);
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
  fake_verbs::fail(Call::post_send, 2, ENOMEM);
  post_all(pair.client, 1, Signal::by_interval);
  EXPECT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::by_interval), PostStatus::busy);
  EXPECT_EQ(pair.client.posted(), 1U);
  post_all(pair.client, 1, Signal::by_interval);
  EXPECT_EQ(poll_once(pair.client), 1);  // the post after a refusal asks for a completion
  EXPECT_EQ(pair.client.completed(), 2U);
}

TEST_F(DataPath, AQueueFullOfNothingHasFailed) {
  Pair pair;
  fake_verbs::fail(Call::post_send, 1, ENOMEM);
  EXPECT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), has_all("ibv_post_send", "ENOMEM"));
}

TEST_F(DataPath, ARefusedPostFails) {
  Pair pair;
  fake_verbs::fail(Call::post_send, 1, EINVAL);
  EXPECT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), has_all("ibv_post_send", "EINVAL"));
  fake_verbs::fail(Call::post_recv, 1, EINVAL);
  EXPECT_EQ(pair.server.post_receive(0), PostStatus::failed);
  EXPECT_THAT(pair.server.failure(), HasSubstr("ibv_post_recv"));
}

TEST_F(DataPath, AFailedMessageIsExplainedAndWhatIsFlushedAfterItIsNot) {
  Pair pair;
  post_all(pair.client, 1);
  fake_verbs::fail_message(IBV_WC_RETRY_EXC_ERR, 0x81);
  post_all(pair.client, 3, Signal::by_interval);
  EXPECT_EQ(poll_once(pair.client), -1);
  EXPECT_EQ(pair.client.completed(), 1U);
  while (poll_once(pair.client) != 0) {
  }
  EXPECT_THAT(pair.client.failure(), has_all("post 1: ", "IBV_WC_RETRY_EXC_ERR", "0x81",
                                             "`gid_index`", "rxe0:1 10.0.0.1", "path MTU 1024"));
  EXPECT_EQ(pair.client.failed_call().library, "libibverbs");
  EXPECT_EQ(pair.client.failed_call().status, "IBV_WC_RETRY_EXC_ERR");
}

TEST_F(DataPath, ReceivesFlushedByALostLinkFail) {
  Pair pair;
  EXPECT_EQ(pair.server.failure(), "nothing failed");
  fake_verbs::break_queue_pair(nlohmann::json::parse(pair.server.address())["queues"][0]["qpn"]);
  EXPECT_EQ(poll_once(pair.server), -1);
  EXPECT_THAT(pair.server.failure(), has_all("receive 0: ", "IBV_WC_WR_FLUSH_ERR"));
}

TEST_F(DataPath, APeerThatIsGoneIsAFailedPost) {
  const EndpointRequest request = widened(small_request());
  const Choice choice = choice_for(request);
  Endpoint client(request, choice.client);
  {
    Endpoint server(other_side(request), choice.server);
    server.connect(client.address());
    client.connect(server.address());
  }
  EXPECT_EQ(client.post<Write>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(client), -1);
  EXPECT_THAT(client.failure(), HasSubstr("did not acknowledge"));
}

TEST_F(DataPath, APollThatFailsSaysSo) {
  Pair pair;
  fake_verbs::fail(Call::poll_cq, 1, EIO);
  EXPECT_EQ(poll_once(pair.client), -1);
  EXPECT_THAT(pair.client.failure(), has_all("ibv_poll_cq", "EIO"));
  EXPECT_EQ(pair.client.failed_call().call, "ibv_poll_cq");
  EXPECT_EQ(pair.client.failed_call().code, EIO);
}

TEST_F(DataPath, SmallMessagesAreInlineAndLargerOnesAreNot) {
  EndpointRequest request = small_request();
  request.options.inline_limit = 64;
  Pair pair(request);
  // The target has no receive left, so the message is carried out after its buffer has changed.
  post_all(pair.client, 4);
  EXPECT_EQ(poll_once(pair.client), 4);
  for (const std::uint64_t size : {64, 65}) {
    memory::fill_pattern(slot(pair.client.send_region(), 0, size), 1);
    ASSERT_EQ(pair.client.post<Send>(0, 0, size, 0, Signal::now), PostStatus::posted);
    memory::fill_pattern(slot(pair.client.send_region(), 0, size), 2);
    pair.server.post_receive(0);
    EXPECT_EQ(poll_once(pair.client), 1);
    const bool taken_at_once = size <= 64;
    EXPECT_TRUE(holds(slot(pair.server.receive_region(), 0, size), taken_at_once ? 1 : 2)) << size;
  }
}

TEST_F(DataPath, AnyOperationFollowsAnyOtherAtAnyOffsetAndLength) {
  Pair pair;
  const Region from = pair.client.send_region();
  const Region to = pair.server.window();
  memory::fill_pattern({from.data, 256}, 1);
  // Written elsewhere than it lies, and in pieces.
  ASSERT_EQ(pair.client.post<Write>(0, 256, 100, 0, Signal::now), PostStatus::posted);
  ASSERT_EQ(pair.client.post<Write>(100, 356, 56, 0, Signal::now), PostStatus::posted);
  ASSERT_EQ(pair.client.post<WriteImm>(156, 412, 100, 77, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 3);
  EXPECT_TRUE(holds({to.data + 256, 256}, 1));
  std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].immediate, 77U);
  EXPECT_EQ(received[0].bytes, 100U);
  // A send and a read between writes of other lengths.
  ASSERT_EQ(pair.client.post<Send>(0, 0, 31, 0, Signal::now), PostStatus::posted);
  ASSERT_EQ(pair.client.post<Read>(256, 256, 256, 0, Signal::now), PostStatus::posted);
  ASSERT_EQ(pair.client.post<Send>(0, 0, 0, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 3);
  EXPECT_TRUE(holds({from.data + 256, 256}, 1));
  received = take(pair.server);
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(received[0].bytes, 31U);
  EXPECT_EQ(received[1].bytes, 0U);
}

TEST_F(DataPath, RefusesWhatItWasNotOpenedFor) {
  EndpointRequest request = small_request();
  request.operations = OperationCode::fetch_add;
  request.max_size = kAtomicBytes;
  Pair pair(request);
  EXPECT_EQ(pair.client.post<Write>(0, 0, 8, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), HasSubstr("write of 8 bytes"));
  EXPECT_EQ(pair.client.post<Send>(0, 0, 0, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(pair.client.post<FetchAdd>(0, 0, kAtomicBytes, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 2);
  Pair wide;
  EXPECT_EQ(wide.client.post<Write>(0, 0, 257, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(wide.client.failure(), HasSubstr("write of 257 bytes"));
}

TEST_F(DataPath, TheCallersMemoryIsUsedInPlace) {
  std::vector<std::byte> mine(1000), theirs(5000), arrivals(512);
  EndpointRequest request = widened(small_request());
  request.buffers = {mine};
  EndpointRequest other = other_side(request);
  other.buffers = {theirs};
  other.receive_buffer = arrivals;
  const Choice choice = choice_for(request);
  Endpoint client(request, choice.client);
  Endpoint server(other, choice.server);
  server.connect(client.address());
  client.connect(server.address());
  EXPECT_EQ(client.send_region().data, mine.data());
  EXPECT_EQ(server.window().data, theirs.data());
  EXPECT_EQ(client.peer_window_bytes(), 5000U);
  EXPECT_EQ(server.peer_window_bytes(), 1000U);
  memory::fill_pattern({mine.data() + 3, 200}, 9);
  ASSERT_EQ(client.post<Write>(3, 4800, 200, 0, Signal::now), PostStatus::posted);
  ASSERT_EQ(client.post<Send>(3, 0, 200, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(client), 2) << client.failure();
  EXPECT_TRUE(holds({theirs.data() + 4800, 200}, 9));
  EXPECT_TRUE(holds({arrivals.data(), 200}, 9));
}

TEST_F(DataPath, TwoThreadsPlayPingPong) {
  Pair pair;
  constexpr std::uint32_t kRounds = 200;
  const auto play = [](Endpoint& endpoint, bool first) {
    if (first) {
      EXPECT_EQ(endpoint.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
    }
    for (std::uint32_t round = 0; round < kRounds;) {
      const int seen = endpoint.poll([&](const Received& received) noexcept {
        ++round;
        endpoint.post_receive(received.slot);
      });
      ASSERT_GE(seen, 0) << endpoint.failure();
      const std::uint64_t due = round + (first ? 1U : 0U);
      if (endpoint.posted() < due && due <= kRounds) {
        ASSERT_EQ(endpoint.post<Send>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
      }
    }
  };
  std::thread server([&] { play(pair.server, false); });
  play(pair.client, true);
  server.join();
  EXPECT_EQ(pair.server.posted(), kRounds);
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::data_path_test

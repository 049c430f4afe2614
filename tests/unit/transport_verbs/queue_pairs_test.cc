// Several queue pairs, lists, scatter/gather entries, shared receives, two completion queues.
#include <nlohmann/json.hpp>

#include "messages.h"

namespace rdmabench::inline v1::transport::verbs::queue_pairs_test {
namespace {

using fake_verbs::Call;
using ::testing::Contains;
using ::testing::HasSubstr;

EndpointRequest with_queue_pairs(std::uint32_t queue_pairs) {
  EndpointRequest request = small_request();
  request.options.queue_pairs = queue_pairs;
  request.depth = 4;
  request.receives = 4;
  return request;
}

class QueuePairs : public OnFakeVerbs {};

TEST_F(QueuePairs, HaveADepthAndReceivesOfTheirOwn) {
  GeneralPair pair(with_queue_pairs(3));
  for (std::uint32_t queue_pair = 0; queue_pair < 3; ++queue_pair) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now, queue_pair),
                PostStatus::posted);
    }
    EXPECT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now, queue_pair), PostStatus::busy);
  }
  EXPECT_EQ(pair.client.posted(), 12U);
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 12U);
  for (std::uint32_t i = 0; i < 12; ++i) EXPECT_EQ(received[i].slot, i);
  EXPECT_EQ(poll_once(pair.client), 12);
  EXPECT_EQ(pair.client.completed(), 12U);
  for (const Received& one : received) pair.server.post_receive(one.slot);
  ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now, 1), PostStatus::posted);
  EXPECT_EQ(take(pair.server)[0].slot, 4U);
}

TEST_F(QueuePairs, CountTogetherWhenEachSignalsAtItsInterval) {
  EndpointRequest request = with_queue_pairs(2);
  request.depth = 8;
  request.receives = 8;
  request.signal_every = 3;
  GeneralPair pair(request);
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(pair.client.post<Write>(0, 0, kSize, 0, Signal::by_interval, i % 2),
              PostStatus::posted);
  }
  EXPECT_EQ(poll_once(pair.client), 2);
  EXPECT_EQ(pair.client.completed(), 6U);
  ASSERT_EQ(pair.client.post<Write>(0, 0, kSize, 0, Signal::now, 0), PostStatus::posted);
  ASSERT_EQ(pair.client.post<Write>(0, 0, kSize, 0, Signal::now, 1), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 2);
  EXPECT_EQ(pair.client.completed(), 10U);
}

TEST_F(QueuePairs, ThatFailAreNamed) {
  GeneralPair pair(with_queue_pairs(3));
  ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now, 2), PostStatus::posted);
  fake_verbs::fail_message(IBV_WC_RETRY_EXC_ERR);
  ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now, 2), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), -1);
  const std::uint32_t number = nlohmann::json::parse(pair.client.address())["queues"][2]["qpn"];
  EXPECT_THAT(pair.client.failure(),
              has_all("post 1 of queue pair 2", fmt::format("queue pair {}", number)));
}

TEST_F(QueuePairs, AreConnectedEachToItsOwn) {
  const GeneralPair pair(with_queue_pairs(4));
  const auto client = nlohmann::json::parse(pair.client.address())["queues"];
  const auto server = nlohmann::json::parse(pair.server.address())["queues"];
  ASSERT_EQ(client.size(), 4U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(fake_verbs::attributes(client[i]["qpn"]).dest_qp_num, server[i]["qpn"]);
    EXPECT_EQ(fake_verbs::attributes(client[i]["qpn"]).rq_psn, server[i]["psn"]);
  }
}

std::set<std::uint32_t> window_keys(const GeneralEndpoint& endpoint) {
  std::set<std::uint32_t> keys;
  const auto address = nlohmann::json::parse(endpoint.address());
  for (const auto& queue : address["queues"]) keys.insert(queue["key"].get<std::uint32_t>());
  return keys;
}

/// What receives of the queue pair carry.
std::uint32_t receive_key(const GeneralEndpoint& endpoint, std::uint32_t queue_pair) {
  const std::uint32_t number =
      nlohmann::json::parse(endpoint.address())["queues"][queue_pair]["qpn"];
  const std::set<std::uint32_t> keys = fake_verbs::receive_keys(number);
  EXPECT_EQ(keys.size(), 1U);
  return *keys.begin();
}

TEST_F(QueuePairs, ShareOneMemoryRegion) {
  const GeneralPair pair(with_queue_pairs(3));
  EXPECT_EQ(fake_verbs::calls(Call::reg_mr), 2 * 3) << "sends, receives and the window";
  EXPECT_EQ(window_keys(pair.server).size(), 1U);
  EXPECT_EQ(receive_key(pair.server, 0), receive_key(pair.server, 2));
}

TEST_F(QueuePairs, HaveAMemoryRegionEachWhereAskedTo) {
  EndpointRequest request = with_queue_pairs(3);
  request.options.verbs.region_per_queue_pair = true;
  GeneralPair pair(request);
  EXPECT_EQ(fake_verbs::calls(Call::reg_mr), 2 * 3 * 3);
  EXPECT_EQ(window_keys(pair.server).size(), 3U);
  for (std::uint32_t queue_pair = 0; queue_pair < 3; ++queue_pair) {
    SCOPED_TRACE(queue_pair);
    move<Send>(pair, queue_pair);  // it returns its receive
    move<Write>(pair, queue_pair);
    move<Read>(pair, queue_pair);
  }
  EXPECT_NE(receive_key(pair.server, 0), receive_key(pair.server, 1));
  EXPECT_NE(receive_key(pair.server, 1), receive_key(pair.server, 2));
  EXPECT_THAT(pair.client.describe().details,
              Contains(Fact("memory_regions", "3, one for each queue pair")));
}

TEST_F(QueuePairs, ReachTheWindowEachByItsOwnKey) {
  EndpointRequest request = widened(with_queue_pairs(3));
  request.options.verbs.region_per_queue_pair = true;
  const Choice choice = choice_for(request);
  GeneralEndpoint client(request, choice.client);
  GeneralEndpoint server(other_side(request), choice.server);
  auto address = nlohmann::json::parse(server.address());
  address["queues"][1]["key"] = 1;  // nobody's
  server.connect(client.address());
  client.connect(address.dump());
  for (const std::uint32_t good : {0U, 2U}) {
    ASSERT_EQ(client.post<Write>(0, 0, kSize, 0, Signal::now, good), PostStatus::posted);
    EXPECT_EQ(poll_once(client), 1);
  }
  ASSERT_EQ(client.post<Write>(0, 0, kSize, 0, Signal::now, 1), PostStatus::posted);
  EXPECT_EQ(poll_once(client), -1);
  EXPECT_THAT(client.failure(), HasSubstr("queue pair 1"));
}

TEST_F(QueuePairs, ShareReceivesWithAMemoryRegionEach) {
  EndpointRequest request = with_queue_pairs(2);
  request.options.verbs.region_per_queue_pair = request.options.verbs.shared_receives = true;
  GeneralPair pair(request);
  move<Send>(pair, 0);
  move<Send>(pair, 1);
}

TEST_F(QueuePairs, ShareReceivesWhereAskedTo) {
  EndpointRequest request = with_queue_pairs(2);
  request.options.verbs.shared_receives = true;
  GeneralPair pair(request);
  EXPECT_THAT(pair.server.describe().details, Contains(Fact("receive_queue", "shared")));
  // One queue pair may use more than its share.
  std::uint32_t taken = 0;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 4; ++i) {
      memory::fill_pattern(slot(pair.client.send_region(), 0, kSize), 9);
      ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now, 1), PostStatus::posted);
    }
    EXPECT_EQ(poll_once(pair.client), 4);
    for (const Received& one : take(pair.server)) {
      EXPECT_EQ(one.slot, taken++);
      EXPECT_TRUE(holds(slot(pair.server.receive_region(), one.slot, kSize), 9));
    }
  }
  // All eight are taken: the next waits for one.
  ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now, 0), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 0);
  ASSERT_EQ(pair.server.post_receive(5), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 1);
  EXPECT_EQ(take(pair.server)[0].slot, 5U);
}

TEST_F(QueuePairs, MayCompleteSendsAndReceivesApart) {
  EndpointRequest request = with_queue_pairs(2);
  request.options.separate_queues = true;
  GeneralPair pair(request);
  EXPECT_EQ(fake_verbs::calls(Call::create_cq), 4);
  ASSERT_EQ(pair.client.post<Send>(0, 0, kSize, 0, Signal::now, 0), PostStatus::posted);
  ASSERT_EQ(pair.server.post<Send>(0, 0, kSize, 0, Signal::now, 1), PostStatus::posted);
  EXPECT_EQ(take(pair.client).size(), 1U);
  EXPECT_EQ(pair.client.completed(), 1U);
  EXPECT_EQ(poll_once(pair.server), 2);
}

template <class Endpoint>
void post_lists(const EndpointRequest& request) {
  PairOf<Endpoint> pair(request);
  const Region region = pair.client.send_region();
  for (std::uint32_t i = 0; i < region.slots; ++i) {
    memory::fill_pattern(slot(region, i, kSize), static_cast<std::uint8_t>(10 + i));
  }
  const int before = fake_verbs::calls(Call::post_send);
  const auto burst = messages(region, 1, 3, kSize, 100);
  ASSERT_EQ(pair.client.template post_list<SendImm>(burst, Signal::now), PostStatus::posted);
  EXPECT_EQ(pair.client.posted(), 3U);
  EXPECT_EQ(fake_verbs::calls(Call::post_send), before + 3);  // members of one list
  // A whole list or nothing.
  const std::span<const Message> all(burst);
  EXPECT_EQ(pair.client.template post_list<SendImm>(all.first(2), Signal::now), PostStatus::busy);
  EXPECT_EQ(poll_once(pair.client), 1);  // the last one stands for all
  EXPECT_EQ(pair.client.completed(), 3U);
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(received[i].immediate, 100 + i);
    if (i < 2) {  // the third took the slot of the first
      EXPECT_TRUE(holds(slot(pair.server.receive_region(), i, kSize), i == 0 ? 11 : 10));
    }
    pair.server.post_receive(received[i].slot);
  }
  // A shorter and then a longer list.
  ASSERT_EQ(pair.client.template post_list<SendImm>(all.first(1), Signal::by_interval),
            PostStatus::posted);
  ASSERT_EQ(pair.client.template post_list<SendImm>(burst, Signal::now), PostStatus::posted);
  EXPECT_GE(poll_once(pair.client), 1);
  EXPECT_EQ(pair.client.completed(), 7U);
  EXPECT_EQ(take(pair.server).size(), 4U);
}

TEST_F(QueuePairs, PostLists) {
  EndpointRequest request = small_request();
  request.options.post_list = 3;
  request.receive_slots = 4;
  post_lists<Endpoint>(request);
  post_lists<GeneralEndpoint>(request);
  request.options.service = Service::ud;
  post_lists<DatagramEndpoint>(request);
}

TEST_F(QueuePairs, AListAlwaysFindsRoomInTheEnd) {
  EndpointRequest request = small_request();
  request.depth = 10;
  request.receives = 10;
  request.signal_every = 10;  // would leave nine posts that nothing tells of
  request.options.post_list = 4;
  Pair pair(request);
  EXPECT_THAT(pair.client.describe().details, Contains(Fact("signal_every", "7")));
  const Region region = pair.client.send_region();
  const auto burst = messages(region, 0, 4, kSize);
  for (int i = 0; i < 20; ++i) {
    const PostStatus status = pair.client.post_list<Write>(burst, Signal::by_interval);
    if (status == PostStatus::busy) {
      ASSERT_GT(poll_once(pair.client), 0) << "nothing will ever complete";
    }
  }
  ASSERT_EQ(pair.client.post<Write>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  poll_once(pair.client);
  EXPECT_EQ(pair.client.completed(), pair.client.posted());
}

TEST_F(QueuePairs, AListThatIsRefusedWholeIsBusyAndInPartHasFailed) {
  EndpointRequest request = small_request();
  request.options.post_list = 2;
  Pair pair(request);
  const Region region = pair.client.send_region();
  const auto burst = messages(region, 0, 2, kSize);
  ASSERT_EQ(pair.client.post_list<Write>(burst, Signal::now), PostStatus::posted);
  fake_verbs::fail(Call::post_send, 1, ENOMEM);
  EXPECT_EQ(pair.client.post_list<Write>(burst, Signal::now), PostStatus::busy);
  fake_verbs::fail(Call::post_send, 2, ENOMEM);
  EXPECT_EQ(pair.client.post_list<Write>(burst, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), has_all("in part", "ENOMEM"));
}

TEST_F(QueuePairs, SplitMessagesIntoSegments) {
  EndpointRequest request = small_request();
  request.options.segments = 3;
  request.options.post_list = 2;
  GeneralPair pair(request);
  for (const std::uint64_t size : {256, 100, 3, 2, 1}) {
    memory::fill_pattern(slot(pair.client.send_region(), 1, size), 5);
    const std::uint64_t stride = pair.client.send_region().stride;
    ASSERT_EQ(pair.client.post<Write>(stride, stride, size, 0, Signal::now), PostStatus::posted);
    EXPECT_TRUE(holds(slot(pair.server.window(), 1, size), 5)) << size;
    EXPECT_EQ(poll_once(pair.client), 1);
    memory::fill_pattern(slot(pair.server.window(), 0, size), 6);
    const auto burst = messages(pair.client.send_region(), 0, 2, size);
    ASSERT_EQ(pair.client.post_list<Read>(burst, Signal::now), PostStatus::posted);
    EXPECT_TRUE(holds(slot(pair.client.send_region(), 0, size), 6)) << size;
    EXPECT_TRUE(holds(slot(pair.client.send_region(), 1, size), 5)) << size;
    EXPECT_EQ(poll_once(pair.client), 1);
  }
}

TEST_F(QueuePairs, HonourStrideAndMisalignment) {
  EndpointRequest request = small_request();
  request.slot_stride = 4096;
  request.options.misalignment = 7;
  Pair pair(request);
  for (const Region& region :
       {pair.client.send_region(), pair.client.receive_region(), pair.client.window()}) {
    EXPECT_EQ(region.stride, 4096U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.data) % 64, 7U);
  }
  memory::fill_pattern(slot(pair.client.send_region(), 1, 256), 3);
  ASSERT_EQ(pair.client.post<Write>(4096, 4096, 256, 0, Signal::now), PostStatus::posted);
  EXPECT_TRUE(holds(slot(pair.server.window(), 1, 256), 3));
  EXPECT_EQ(poll_once(pair.client), 1);
}

TEST_F(QueuePairs, DatagramSlotsAreAlignedBehindTheirHeader) {
  EndpointRequest request = small_request();
  request.options.service = Service::ud;
  const DatagramPair pair(request);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pair.client.receive_region().data) % 64, 0U);
  EXPECT_EQ(pair.client.receive_region().stride, 256U + 64U);
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::queue_pairs_test

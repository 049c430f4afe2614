// Which writes of the peer may be seen by polling their last byte.
#include "transport/verbs/write_order.h"
#include "../fact.h"
#include "messages.h"

namespace rdmabench::inline v1::transport::verbs::write_order_test {
namespace {

constexpr std::uint64_t kMtu = 1024;  // of the fake device's port

class WriteOrders : public OnFakeVerbs {
 protected:
  static void have(bool data_in_order) {
    fake_verbs::Device device = fake_verbs::mlx5();
    device.data_in_order = data_in_order;
    fake_verbs::reset({device});
  }
};

EndpointRequest large(Service service) {
  EndpointRequest request = over(service);
  request.max_size = service == Service::ud ? kMtu : 4 * kMtu;
  return request;
}

template <class E>
WriteOrder order_of(const EndpointRequest& request) {
  const PairOf<E> pair(request);
  EXPECT_EQ(pair.client.write_order().bytes, pair.server.write_order().bytes);
  return pair.server.write_order();
}

TEST_F(WriteOrders, ADeviceThatPromisesNoOrderIsTrustedWithOnePacketAlone) {
  have(false);
  EndpointRequest several = large(Service::rc);
  several.options.queue_pairs = 2;
  for (const WriteOrder& order :
       {order_of<Endpoint>(large(Service::rc)), order_of<GeneralEndpoint>(several),
        order_of<GeneralEndpoint>(large(Service::xrc))}) {
    EXPECT_EQ(order.bytes, assumed_bytes(kMtu));
    EXPECT_FALSE(order.promised);
  }
  EXPECT_EQ(order_of<Endpoint>(over(Service::rc)).bytes, assumed_bytes(256))
      << "no longer than any message";
}

TEST(WriteOrder, OfAProcessorThatReordersAPacketIsAssumedOfACacheLine) {
  EXPECT_EQ(assumed_bytes(kMtu, /*x86=*/true), kMtu);
  EXPECT_EQ(assumed_bytes(kMtu, /*x86=*/false), 64U);
  EXPECT_THAT(std::string(write_order_text({.bytes = 64}, /*x86=*/false)),
              ::testing::HasSubstr("the processor is not x86"));
}

TEST_F(WriteOrders, AreAFactOfWritesThatMayBePolledAlone) {
  have(false);
  const Pair pair(large(Service::rc));
  EXPECT_EQ(fact(pair.client.describe().details, "write_order"), write_order_text({.bytes = 1}))
      << "without a length, which would make a difference of other `sizes`";
  const EndpointRequest sends = only(Service::rc);
  const Endpoint client(sends, choice_for(sends).client);
  EXPECT_EQ(fact(client.describe().details, "write_order"), "none") << "no such fact";
}

TEST_F(WriteOrders, WhatTheQueuePairPromisesHoldsForEveryLength) {
  have(true);
  for (const WriteOrder& order :
       {order_of<Endpoint>(large(Service::rc)), order_of<GeneralEndpoint>(large(Service::xrc))}) {
    EXPECT_EQ(order.bytes, 4 * kMtu);
    EXPECT_TRUE(order.promised);
  }
}

#if RDMABENCH_HAVE_MLX5
TEST_F(WriteOrders, OverDcTheTargetIsAsked) {
  for (const bool promised : {false, true}) {
    have(promised);
    const WriteOrder order = order_of<DynamicEndpoint>(large(Service::dc));
    EXPECT_EQ(order.promised, promised);
    EXPECT_EQ(order.bytes, promised ? 4 * kMtu : assumed_bytes(kMtu));
  }
}
#endif

TEST_F(WriteOrders, NothingIsPolledWhereWritesGetLostOrMayBeReordered) {
  have(true);
  EXPECT_EQ(order_of<DatagramEndpoint>(large(Service::uc)).bytes, 0U);
  EXPECT_EQ(order_of<DatagramEndpoint>(large(Service::ud)).bytes, 0U);
  EndpointRequest relaxed = large(Service::rc);
  relaxed.options.relaxed_ordering = true;
  EXPECT_EQ(order_of<Endpoint>(relaxed).bytes, 0U);
  relaxed.options.relaxed_ordering = false;
  EXPECT_EQ(order_of<Endpoint>(relaxed).bytes, 4 * kMtu);
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::write_order_test

#include "rdmabench/run/worker.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "rdmabench/transport/loop/endpoint.h"

namespace rdmabench::inline v1::run {
namespace {

using transport::EndpointRequest;

/// One operation, because the loops of each are compiled.
class Sending : public transport::loop::Endpoint {
 public:
  using transport::loop::Endpoint::Endpoint;
  template <class Op>
  static constexpr bool supports = std::is_same_v<Op, transport::Send>;
};

/// Of a device that has less than was asked for.
class Small : public Sending {
 public:
  using Sending::Sending;
  static std::uint32_t depth() noexcept { return 4; }
  static std::uint32_t receives() noexcept { return 6; }
};

/// Of a device that has something to say.
class Reporting : public Sending {
 public:
  using Sending::Sending;
  static std::string device_report() { return "the link went down"; }
};

constexpr workload::EpochPlan kPlan{.depth = 16, .receives = 5, .post_list = 8};

TEST(WorkerOf, ThePlanIsBoundedByWhatTheEndpointHas) {
  const WorkerOf<Small> worker(EndpointRequest{}, "");
  const workload::EpochPlan plan = worker.bounded(kPlan);
  EXPECT_EQ(plan.depth, 4U);
  EXPECT_EQ(plan.receives, 5U) << "less than it has was asked for";
  EXPECT_EQ(plan.post_list, 4U) << "a list is posted whole";
}

TEST(WorkerOf, AnEndpointThatHasWhatWasAskedForLeavesThePlan) {
  const WorkerOf<Sending> worker(EndpointRequest{}, "");
  EXPECT_EQ(worker.bounded(kPlan).depth, 16U);
  EXPECT_EQ(worker.bounded(kPlan).post_list, 8U);
}

TEST(WorkerOf, TellsWhatItsDeviceReported) {
  EXPECT_EQ(WorkerOf<Reporting>(EndpointRequest{}, "").device_report(), "the link went down");
  EXPECT_EQ(WorkerOf<Sending>(EndpointRequest{}, "").device_report(), "");
}

}  // namespace
}  // namespace rdmabench::inline v1::run

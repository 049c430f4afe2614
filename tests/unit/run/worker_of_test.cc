#include "run/worker_of.h"

#include <gtest/gtest.h>

#include "rdmabench/transport/loop/endpoint.h"

namespace rdmabench::run {
namespace {

using transport::EndpointRequest;

/// Of a device that has less than was asked for.
class Small : public transport::loop::Endpoint {
 public:
  using transport::loop::Endpoint::Endpoint;
  static std::uint32_t depth() noexcept { return 4; }
  static std::uint32_t receives() noexcept { return 6; }
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
  const WorkerOf<transport::loop::Endpoint> worker(EndpointRequest{}, "");
  EXPECT_EQ(worker.bounded(kPlan).depth, 16U);
  EXPECT_EQ(worker.bounded(kPlan).post_list, 8U);
}

}  // namespace
}  // namespace rdmabench::run

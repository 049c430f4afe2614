// A target that does not poll.
#include <gtest/gtest.h>

#include "pair.h"

namespace rdmabench::inline v1::workload {
namespace {

using namespace std::chrono_literals;
using transport::OperationCode;

LoopKey idle_key(OperationCode operation) {
  LoopKey key = key_of(Shape::latency, operation, false);
  key.target_idle = true;
  return key;
}

class IdleTarget : public ::testing::TestWithParam<OperationCode> {
 protected:
  EpochPlan plan{.iterations = 5, .size = 8, .depth = 4, .receives = 4};
};

TEST_P(IdleTarget, IsNotNeededByWhatIsOneSided) {
  Pair pair(idle_key(GetParam()), plan);
  const BothResults run = pair.run();
  EXPECT_EQ(run.initiator.outcome, Outcome::ok);
  EXPECT_EQ(run.target.outcome, Outcome::ok);
  EXPECT_EQ(run.initiator.checked, 5U);
  EXPECT_EQ(pair.server.polls, 0U);
  for (const measure::Ticks interval : run.intervals) EXPECT_GT(interval, 0U);
}

TEST_P(IdleTarget, WhoseProcessorIsNeededIsAStall) {
  Pair pair(idle_key(GetParam()), plan);
  pair.client.never_completes = true;
  pair.limit = 30ms;
  pair.target_limit = 5s;  // the initiator is the first to give up
  const BothResults run = pair.run();
  EXPECT_EQ(run.initiator.outcome, Outcome::stalled);
  EXPECT_NE(run.target.outcome, Outcome::ok);
  EXPECT_EQ(pair.server.polls, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, IdleTarget,
                         ::testing::Values(OperationCode::write, OperationCode::read,
                                           OperationCode::fetch_add, OperationCode::compare_swap),
                         [](const auto& param_info) { return name_of(param_info.param); });

TEST(IdleTargetWrite, WhoseDataDoesNotArriveIsFound) {
  Pair pair(idle_key(OperationCode::write),
            {.iterations = 5, .size = 100, .depth = 4, .receives = 4});
  pair.client.lose_at = 4;  // the second read counts too
  const BothResults run = pair.run();
  EXPECT_EQ(run.initiator.outcome, Outcome::wrong_data);
  EXPECT_EQ(run.initiator.message, 2U);
}

}  // namespace
}  // namespace rdmabench::inline v1::workload

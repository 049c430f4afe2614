#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "pair.h"

namespace rdmabench::workload {
namespace {

using transport::OperationCode;

using Case = std::tuple<Shape, OperationCode, bool, std::uint64_t>;

class Loops : public ::testing::TestWithParam<Case> {};

TEST_P(Loops, MoveEveryMessageAndTimeEveryOne) {
  const auto [shape, operation, validate, size] = GetParam();
  const LoopKey key{shape, operation, Side::initiator, validate, measure::clock_choice().source};
  const EpochPlan plan{.iterations = 600, .size = size, .depth = 8, .receives = 16};
  Pair pair(key, plan);
  for (int epoch = 0; epoch < 3; ++epoch) {  // a session runs many, over the same endpoints
    const BothResults run = pair.run();
    ASSERT_EQ(run.initiator.outcome, Outcome::ok);
    ASSERT_EQ(run.target.outcome, Outcome::ok);
    EXPECT_EQ(pair.client.posted(), pair.client.completed());
    EXPECT_EQ(pair.server.posted(), pair.server.completed());
    if (shape == Shape::latency) {
      for (const measure::Ticks interval : run.intervals) EXPECT_GT(interval, 0U);
    } else {
      EXPECT_GT(run.initiator.end, run.initiator.begin);
    }
    const std::uint64_t checked = run.initiator.checked + run.target.checked;
    const bool window_only = shape == Shape::stream && (operation == OperationCode::write ||
                                                        operation == OperationCode::write_imm);
    const bool both_ways = shape == Shape::latency && operation != OperationCode::read;
    const std::uint64_t all = window_only ? 8 : both_ways ? 2 * plan.iterations : plan.iterations;
    EXPECT_EQ(checked, validate ? all : 0);
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const auto& [shape, operation, validate, size] = info.param;
  std::string name = shape == Shape::latency ? "latency_" : "stream_";
  for (const char c : transport::name(operation)) name += c == '-' ? '_' : c;
  return name + (validate ? "_validated_" : "_") + std::to_string(size);
}

INSTANTIATE_TEST_SUITE_P(
    All, Loops,
    ::testing::Combine(::testing::Values(Shape::latency, Shape::stream),
                       ::testing::Values(OperationCode::send, OperationCode::write,
                                         OperationCode::write_imm, OperationCode::read),
                       ::testing::Bool(), ::testing::Values(1, 64, 1000)),
    case_name);

TEST(Tags, AreNeverZeroAndDifferFromTheNext) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_NE(tag_of(i), 0);
    EXPECT_NE(tag_of(i), tag_of(i + 1));
  }
}

TEST(Stream, RefusedPostsAreMadeAgain) {
  const LoopKey key{Shape::stream, OperationCode::write_imm, Side::initiator, true,
                    measure::ClockSource::raw};
  Pair pair(key, {.iterations = 100, .size = 8, .depth = 4, .receives = 4}, 4);
  pair.client.busy_posts = 50;
  const BothResults run = pair.run();
  EXPECT_EQ(run.initiator.outcome, Outcome::ok);
  EXPECT_EQ(run.target.outcome, Outcome::ok);
}

TEST(Stream, ASingleMessageOfDepthOneArrives) {
  for (const OperationCode operation :
       {OperationCode::send, OperationCode::write, OperationCode::write_imm, OperationCode::read}) {
    const LoopKey key{Shape::stream, operation, Side::initiator, true, measure::ClockSource::raw};
    Pair pair(key, {.iterations = 1, .size = 1, .depth = 1, .receives = 1}, 1);
    const BothResults run = pair.run();
    EXPECT_EQ(run.initiator.outcome, Outcome::ok) << transport::name(operation);
    EXPECT_EQ(run.target.outcome, Outcome::ok) << transport::name(operation);
  }
}

}  // namespace
}  // namespace rdmabench::workload

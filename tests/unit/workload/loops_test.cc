// Every loop over every operation, as it should go.
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "pair.h"

namespace rdmabench::inline v1::workload {
namespace {

using transport::OperationCode;

constexpr auto kAllShapes =
    std::array{Shape::latency, Shape::bandwidth, Shape::bidirectional, Shape::load};
constexpr auto kAllOperations = [] {
  std::array<OperationCode, transport::Operations::kCount> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<OperationCode>(i);
  return all;
}();

/// Whether there is a loop: operations that few devices have are measured by two shapes alone.
bool has_loop(Shape shape, OperationCode operation) {
  return !transport::is_extended(operation) || shape == Shape::latency || shape == Shape::bandwidth;
}

/// How many messages both sides together must have compared.
std::uint64_t expected_checks(Shape shape, OperationCode operation, std::uint64_t n,
                              std::uint64_t slots) {
  const bool by_window =
      (!transport::notifies(operation) && !transport::is_from_target(operation)) ||
      (operation == OperationCode::write_imm && shape != Shape::load);
  if (shape == Shape::latency && transport::traits(operation).flushes) return std::min(n, slots);
  if (shape == Shape::latency) return transport::is_from_target(operation) ? n : 2 * n;
  if (shape == Shape::load) {
    return by_window ? slots : transport::notifies(operation) ? 2 * n : n;
  }
  return (by_window ? slots : n) * (shape == Shape::bidirectional ? 2 : 1);
}

constexpr const char* kImpossible = "no loop of this shape has this operation and size";

template <class E>
void expect_all_moves(const LoopKey& key, const EpochPlan& plan, std::uint32_t slots,
                      std::uint32_t queue_pairs, const std::vector<std::uint64_t>& more = {}) {
  PairOf<E> pair(key, plan, slots, queue_pairs);
  pair.more = more;
  const std::uint64_t n = std::accumulate(more.begin(), more.end(), plan.iterations);
  for (int epoch = 0; epoch < 3; ++epoch) {  // a session runs many, over the same endpoints
    const BothResults run = pair.run();
    ASSERT_EQ(run.initiator.outcome, Outcome::ok) << run.initiator.message;
    ASSERT_EQ(run.target.outcome, Outcome::ok) << run.target.message;
    EXPECT_EQ(pair.client.posted(), pair.client.completed());
    EXPECT_EQ(pair.server.posted(), pair.server.completed());
    if (key.shape == Shape::latency || key.shape == Shape::load) {
      for (const measure::Ticks interval : run.intervals) EXPECT_GT(interval, 0U);
    }
    for (std::uint32_t i = 1; i < run.initiator.mark_count; ++i) {
      EXPECT_GE(run.initiator.marks[i].time, run.initiator.marks[i - 1].time);
      EXPECT_GT(run.initiator.marks[i].completed, run.initiator.marks[i - 1].completed);
      EXPECT_LE(run.initiator.marks[i].completed, n);
    }
    if (key.shape != Shape::latency) {
      EXPECT_GT(run.initiator.end, run.initiator.begin);
    }
    if (transport::is_atomic(key.operation)) {
      EXPECT_EQ(run.target.succeeded, n);
      EXPECT_EQ(run.initiator.succeeded, key.shape == Shape::bidirectional ? n : 0);
    }
    if (transport::notifies(key.operation) && key.shape != Shape::latency) {
      EXPECT_EQ(run.target.arrived, n);
    }
    EXPECT_EQ(run.initiator.checked + run.target.checked,
              key.validate ? expected_checks(key.shape, key.operation, n, slots) : 0);
  }
}

using Case = std::tuple<Shape, OperationCode, bool, std::uint64_t>;

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const auto& [shape, operation, validate, size] = info.param;
  return name_of(shape) + "_" + name_of(operation) + (validate ? "_validated_" : "_") +
         std::to_string(size);
}

class Loops : public ::testing::TestWithParam<Case> {
 protected:
  EpochPlan plan() const {
    // One message of a latency test waits for the other, and on a busy machine for its processor.
    const std::uint64_t iterations = std::get<0>(GetParam()) == Shape::latency ? 150 : 600;
    return {.iterations = iterations,
            .size = std::get<3>(GetParam()),
            .depth = 8,
            .receives = 16,
            .gap_q16 = kShortGap};
  }
  LoopKey key() const {
    const auto& [shape, operation, validate, size] = GetParam();
    return key_of(shape, operation, validate);
  }
  bool possible() const {
    const auto& [shape, operation, validate, size] = GetParam();
    const std::uint64_t fixed = transport::traits(operation).bytes;
    return has_loop(shape, operation) && (fixed == 0 || size == fixed);
  }
};

TEST_P(Loops, MoveEveryMessageAndTimeEveryOne) {
  if (!possible()) GTEST_SKIP() << kImpossible;
  expect_all_moves<FaultyEndpoint>(key(), plan(), 8, 1);
}

TEST_P(Loops, GoOverSeveralQueuePairs) {
  if (!possible()) GTEST_SKIP() << kImpossible;
  if (loop_over(FaultyQueuePairs(transport::EndpointRequest{}, ""), key()).loop == nullptr) {
    // Without an immediate, nothing says which message an answer is for.
    EXPECT_EQ(key().shape, Shape::load);
    EXPECT_FALSE(key().operation == OperationCode::send_imm ||
                 key().operation == OperationCode::write_imm);
    GTEST_SKIP() << kImpossible;
  }
  expect_all_moves<FaultyQueuePairs>(key(), plan(), 16, 4);
}

TEST_P(Loops, GoByLists) {
  if (!possible()) GTEST_SKIP() << kImpossible;
  const transport::OperationTraits& traits = transport::traits(key().operation);
  if (traits.conditional || traits.flushes ||
      (key().shape != Shape::bandwidth && key().shape != Shape::bidirectional)) {
    GTEST_SKIP() << "has no lists";
  }
  EpochPlan by_lists = plan();
  by_lists.post_list = 4;
  expect_all_moves<FaultyEndpoint>(key(), by_lists, 8, 1);
  by_lists.post_list = 3;  // divides neither the messages, nor the depth, nor the slots
  by_lists.iterations += 1;
  expect_all_moves<FaultyQueuePairs>(key(), by_lists, 16, 4);
}

TEST_P(Loops, GoWithOneSlotAndMoreQueuePairsThanMessages) {
  if (!possible() ||
      loop_over(FaultyQueuePairs(transport::EndpointRequest{}, ""), key()).loop == nullptr) {
    GTEST_SKIP() << kImpossible;
  }
  if (transport::traits(key().operation).conditional && !key().validate) {
    GTEST_SKIP() << "the words of one slot collide";
  }
  EpochPlan few = plan();
  few.iterations = 3;
  expect_all_moves<FaultyQueuePairs>(key(), few, 1, 4);
}

TEST_P(Loops, GrowWhileTheyRun) {
  if (!possible() || key().shape == Shape::latency || key().shape == Shape::load) {
    GTEST_SKIP() << kImpossible;
  }
  expect_all_moves<FaultyEndpoint>(key(), plan(), 8, 1, {50, 1, 300});
  EpochPlan few = plan();
  few.iterations = 1;
  few.post_list = 3;
  expect_all_moves<FaultyQueuePairs>(key(), few, 16, 4, {1, 40, 2});
}

INSTANTIATE_TEST_SUITE_P(All, Loops,
                         ::testing::Combine(::testing::ValuesIn(kAllShapes),
                                            ::testing::ValuesIn(kAllOperations), ::testing::Bool(),
                                            ::testing::Values(1, 8, 1000)),
                         case_name);

TEST(Tags, AreNeverZeroAndDifferFromTheNext) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_NE(tag_of(i), 0);
    EXPECT_NE(tag_of(i), tag_of(i + 1));
  }
}

TEST(Lists, AreHandedOverWhole) {
  const LoopKey key = key_of(Shape::bandwidth, OperationCode::send, false);
  const EpochPlan plan{.iterations = 102, .size = 8, .depth = 8, .receives = 16, .post_list = 4};
  Pair pair(key, plan);
  ASSERT_EQ(pair.run().initiator.outcome, Outcome::ok);
  EXPECT_EQ(pair.client.lists(), 26U);  // 25 of four messages, and what is left
}

TEST(Lists, CompleteWhereTheIntervalOfCompletionsIsLongerThanWhatFits) {
  // Only one list of 5 fits into a queue of 8, and no 8th post would ever ask for a completion.
  const EpochPlan plan{.iterations = 100,
                       .size = 8,
                       .depth = 8,
                       .receives = 16,
                       .post_list = 5,
                       .events = true};  // completes at every 8th post, see pair.h
  for (const bool validate : {false, true}) {
    const LoopKey key = key_of(Shape::bandwidth, OperationCode::write_imm, validate);
    EXPECT_EQ(Pair(key, plan).run().initiator.outcome, Outcome::ok);
    EXPECT_EQ(PairOf<FaultyQueuePairs>(key, plan, 8, 4).run().initiator.outcome, Outcome::ok);
  }
}

TEST(Stream, RefusedPostsAndReceivesAreMadeAgain) {
  for (const Shape shape : {Shape::bandwidth, Shape::bidirectional, Shape::load}) {
    for (const std::uint32_t list : {1U, 2U}) {
      Pair pair(key_of(shape, OperationCode::write_imm, true),
                {.iterations = 100,
                 .size = 8,
                 .depth = 4,
                 .receives = 4,
                 .post_list = list,
                 .gap_q16 = kShortGap},
                4);
      pair.client.busy_posts = pair.server.busy_posts = 50;
      pair.client.busy_receives = pair.server.busy_receives = 3;
      const BothResults run = pair.run();
      EXPECT_EQ(run.initiator.outcome, Outcome::ok) << name_of(shape);
      EXPECT_EQ(run.target.outcome, Outcome::ok) << name_of(shape);
    }
  }
}

TEST(Stream, ASingleMessageOfDepthOneArrives) {
  for (const Shape shape : kAllShapes) {
    for (const OperationCode operation : kAllOperations) {
      if (!has_loop(shape, operation)) continue;
      Pair pair(key_of(shape, operation, true),
                {.iterations = 1, .size = 8, .depth = 1, .receives = 1, .gap_q16 = kShortGap}, 1);
      const BothResults run = pair.run();
      EXPECT_EQ(run.initiator.outcome, Outcome::ok) << name_of(shape) << name_of(operation);
      EXPECT_EQ(run.target.outcome, Outcome::ok) << name_of(shape) << name_of(operation);
    }
  }
}

TEST(Duplex, OneReceiveOnEachSideIsEnough) {
  Pair pair(key_of(Shape::bidirectional, OperationCode::send, true),
            {.iterations = 200, .size = 8, .depth = 8, .receives = 1});
  const BothResults run = pair.run();
  EXPECT_EQ(run.initiator.outcome, Outcome::ok);
  EXPECT_EQ(run.target.outcome, Outcome::ok);
}

TEST(Loops, AreNotThereWhereTheyWouldProveNothing) {
  Pair pair(key_of(Shape::bandwidth, OperationCode::send, false), {});
  LoopKey key = key_of(Shape::bidirectional, OperationCode::send, false);
  key.paced = true;
  EXPECT_EQ(loop_over(pair.client, key).loop, nullptr);
  key.shape = Shape::load;  // always paced
  EXPECT_NE(loop_over(pair.client, key).loop, nullptr);
  key = key_of(Shape::latency, OperationCode::send, false);
  key.target_idle = true;
  EXPECT_EQ(loop_over(pair.client, key).loop, nullptr);
  key.operation = OperationCode::write;
  EXPECT_NE(loop_over(pair.client, key).loop, nullptr);
}

}  // namespace
}  // namespace rdmabench::inline v1::workload

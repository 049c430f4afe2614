// What must not pass: each test breaks one thing on the wire, and the loop that would hide it fails
// here.
#include <gtest/gtest.h>

#include <tuple>

#include "pair.h"

namespace rdmabench::inline v1::workload {
namespace {

using namespace std::chrono_literals;
using transport::OperationCode;

constexpr EpochPlan kFaultyPlan{
    .iterations = 300, .size = 100, .depth = 8, .receives = 16, .gap_q16 = kShortGap};

EpochPlan plan_for(OperationCode operation) {
  EpochPlan plan = kFaultyPlan;
  if (transport::is_atomic(operation)) plan.size = transport::kAtomicBytes;
  return plan;
}

constexpr auto kFaultyShapes =
    std::array{Shape::latency, Shape::bandwidth, Shape::bidirectional, Shape::load};

constexpr const char* kNoAnswers = "its target answers nothing";

using ShapeAndOperation = std::tuple<Shape, OperationCode>;

std::string faulty_case_name(const ::testing::TestParamInfo<ShapeAndOperation>& info) {
  return name_of(std::get<0>(info.param)) + "_" + name_of(std::get<1>(info.param));
}

class WrongImmediate : public ::testing::TestWithParam<ShapeAndOperation> {};

TEST_P(WrongImmediate, IsSeenEvenWithoutValidation) {
  const auto [shape, operation] = GetParam();
  Pair pair(key_of(shape, operation, false), kFaultyPlan);
  pair.client.wrong_immediate_at = 299;
  const BothResults run = pair.run();
  EXPECT_EQ(run.target.outcome, Outcome::wrong_immediate);
  EXPECT_EQ(run.target.message, 299U);
  EXPECT_EQ(run.initiator.outcome, Outcome::interrupted);
}

TEST_P(WrongImmediate, IsSeenAmongSeveralQueuePairs) {
  const auto [shape, operation] = GetParam();
  PairOf<FaultyQueuePairs> pair(key_of(shape, operation, false), kFaultyPlan, 8, 4);
  pair.client.wrong_immediate_at = 7;
  const BothResults run = pair.run();
  EXPECT_NE(run.target.outcome, Outcome::ok);
  EXPECT_NE(run.initiator.outcome, Outcome::ok);
}

TEST_P(WrongImmediate, OfAnAnswerIsSeenByTheInitiator) {
  const auto [shape, operation] = GetParam();
  if (shape == Shape::bandwidth) GTEST_SKIP() << kNoAnswers;
  Pair pair(key_of(shape, operation, false), kFaultyPlan);
  pair.server.wrong_immediate_at = 100;
  const BothResults run = pair.run();
  EXPECT_EQ(run.initiator.outcome, Outcome::wrong_immediate);
  EXPECT_EQ(run.initiator.message, 100U);
}

INSTANTIATE_TEST_SUITE_P(All, WrongImmediate,
                         ::testing::Combine(::testing::ValuesIn(kFaultyShapes),
                                            ::testing::Values(OperationCode::write_imm,
                                                              OperationCode::send_imm)),
                         faulty_case_name);

class WrongByte : public ::testing::TestWithParam<ShapeAndOperation> {};

TEST_P(WrongByte, IsFoundByTheTarget) {
  const auto [shape, operation] = GetParam();
  Pair pair(key_of(shape, operation, true), kFaultyPlan);
  pair.client.wrong_byte_at = 299;  // the last message: what a window still holds at the end
  const BothResults run = pair.run();
  EXPECT_EQ(run.target.outcome, Outcome::wrong_data);
  EXPECT_EQ(run.target.message, 299U);
  EXPECT_EQ(run.target.byte, 0U);
  EXPECT_NE(run.initiator.outcome, Outcome::ok);
}

TEST_P(WrongByte, IsFoundByTheTargetOfLists) {
  const auto [shape, operation] = GetParam();
  if (shape != Shape::bandwidth && shape != Shape::bidirectional) GTEST_SKIP() << "has no lists";
  EpochPlan lists = kFaultyPlan;
  lists.post_list = 4;
  Pair pair(key_of(shape, operation, true), lists);
  pair.client.wrong_byte_at = 298;
  EXPECT_EQ(pair.run().target.outcome, Outcome::wrong_data);
}

TEST_P(WrongByte, IsFoundAmongSeveralQueuePairs) {
  const auto [shape, operation] = GetParam();
  PairOf<FaultyQueuePairs> pair(key_of(shape, operation, true), kFaultyPlan, 8, 4);
  if (loop_over(pair.client, key_of(shape, operation, true)).loop == nullptr) {
    GTEST_SKIP() << "has no loop over several queue pairs";
  }
  pair.client.wrong_byte_at = 299;
  EXPECT_EQ(pair.run().target.outcome, Outcome::wrong_data);
}

TEST_P(WrongByte, OfAnAnswerIsFoundByTheInitiator) {
  const auto [shape, operation] = GetParam();
  if (shape == Shape::bandwidth || (shape == Shape::load && operation == OperationCode::write)) {
    GTEST_SKIP() << kNoAnswers;
  }
  Pair pair(key_of(shape, operation, true), kFaultyPlan);
  pair.server.wrong_byte_at = 299;
  const BothResults run = pair.run();
  EXPECT_EQ(run.initiator.outcome, Outcome::wrong_data);
  EXPECT_EQ(run.initiator.message, 299U);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongByte,
    ::testing::Combine(::testing::ValuesIn(kFaultyShapes),
                       ::testing::Values(OperationCode::send, OperationCode::send_imm,
                                         OperationCode::write, OperationCode::write_imm)),
    faulty_case_name);

TEST(ReadFaults, WrongDataInTheTargetsWindowIsFoundByTheReader) {
  for (const OperationCode operation :
       {OperationCode::read, OperationCode::fetch_add, OperationCode::compare_swap}) {
    for (const Shape shape : kFaultyShapes) {
      Pair pair(key_of(shape, operation, true), plan_for(operation));
      pair.spoil_window = true;
      const BothResults run = pair.run();
      EXPECT_EQ(run.initiator.outcome, Outcome::wrong_data) << name_of(shape) << name_of(operation);
      EXPECT_EQ(run.initiator.byte, 5U);
      EXPECT_EQ(run.initiator.message, 0U);
      EXPECT_NE(run.target.outcome, Outcome::ok);
    }
  }
}

TEST(AtomicFaults, SwapsThatFailAreCountedWithoutValidation) {
  for (const Shape shape : {Shape::latency, Shape::bandwidth, Shape::bidirectional, Shape::load}) {
    Pair pair(key_of(shape, OperationCode::compare_swap, false),
              plan_for(OperationCode::compare_swap), 1);
    pair.client.lose_at = 100;  // so that all that come after find a word too small
    const BothResults run = pair.run();
    EXPECT_EQ(run.initiator.outcome, Outcome::ok);
    EXPECT_EQ(run.target.succeeded, 100U) << name_of(shape);
  }
}

TEST(AtomicFaults, AnAdditionThatDidNotHappenIsFoundWhenValidating) {
  for (const Shape shape : {Shape::latency, Shape::bandwidth, Shape::bidirectional, Shape::load}) {
    Pair pair(key_of(shape, OperationCode::fetch_add, true), plan_for(OperationCode::fetch_add));
    pair.client.lose_at = 299;
    const BothResults run = pair.run();
    EXPECT_EQ(run.target.outcome, Outcome::wrong_messages) << name_of(shape);
    EXPECT_EQ(run.target.succeeded, 299U);
  }
}

class LostMessage : public ::testing::TestWithParam<ShapeAndOperation> {};

TEST_P(LostMessage, EndsBothSidesWithinTheLimit) {
  const auto [shape, operation] = GetParam();
  Pair pair(key_of(shape, operation, false), kFaultyPlan);
  pair.client.lose_at = 100;
  pair.limit = 50ms;
  const BothResults run = pair.run();
  EXPECT_NE(run.initiator.outcome, Outcome::ok);
  EXPECT_NE(run.target.outcome, Outcome::ok);
}

INSTANTIATE_TEST_SUITE_P(
    All, LostMessage,
    ::testing::Values(ShapeAndOperation(Shape::latency, OperationCode::send),
                      ShapeAndOperation(Shape::latency, OperationCode::write),
                      ShapeAndOperation(Shape::latency, OperationCode::write_imm),
                      ShapeAndOperation(Shape::bandwidth, OperationCode::send),
                      ShapeAndOperation(Shape::bandwidth, OperationCode::write_imm),
                      ShapeAndOperation(Shape::bidirectional, OperationCode::send),
                      ShapeAndOperation(Shape::bidirectional, OperationCode::write_imm),
                      ShapeAndOperation(Shape::load, OperationCode::send),
                      ShapeAndOperation(Shape::load, OperationCode::send_imm)),
    faulty_case_name);

TEST(LostMarker, EndsBothSidesWithinTheLimit) {
  for (const auto& [shape, operation] :
       {ShapeAndOperation(Shape::latency, OperationCode::read),
        ShapeAndOperation(Shape::bandwidth, OperationCode::write),
        ShapeAndOperation(Shape::bidirectional, OperationCode::write),
        ShapeAndOperation(Shape::load, OperationCode::write)}) {
    Pair pair(key_of(shape, operation, false), kFaultyPlan);
    pair.client.lost_markers = 1;
    pair.limit = 50ms;
    const BothResults run = pair.run();
    EXPECT_NE(run.initiator.outcome, Outcome::ok) << name_of(shape);
    EXPECT_NE(run.target.outcome, Outcome::ok) << name_of(shape);
  }
}

TEST(LostMarker, OfTheTargetEndsTheInitiatorWithinTheLimit) {
  for (const Shape shape : {Shape::bandwidth, Shape::bidirectional}) {
    for (const OperationCode operation : {OperationCode::send, OperationCode::write}) {
      Pair pair(key_of(shape, operation, false), kFaultyPlan);
      pair.server.lost_markers = 1;
      pair.limit = 150ms;
      const BothResults run = pair.run();
      EXPECT_EQ(run.initiator.outcome, Outcome::stalled) << name_of(shape) << name_of(operation);
      EXPECT_EQ(run.initiator.wait, Wait::confirmation);
    }
  }
}

TEST(Duplicates, AreFoundWhenValidating) {
  for (const Shape shape : {Shape::bandwidth, Shape::bidirectional, Shape::load}) {
    for (const OperationCode operation : {OperationCode::send, OperationCode::send_imm}) {
      Pair pair(key_of(shape, operation, true), kFaultyPlan);
      pair.client.double_at = 3;
      const BothResults run = pair.run();
      EXPECT_TRUE(is_about_data(run.target.outcome)) << name_of(shape);
      EXPECT_EQ(run.target.message, 4U);
    }
  }
}

TEST(Duplicates, AreFoundAmongSeveralQueuePairsByTheirSums) {
  for (const Shape shape : {Shape::bandwidth, Shape::bidirectional}) {
    PairOf<FaultyQueuePairs> pair(key_of(shape, OperationCode::send_imm, false), kFaultyPlan, 8, 4);
    pair.client.double_at = 3;
    EXPECT_TRUE(is_about_data(pair.run().target.outcome)) << name_of(shape);
  }
}

TEST(Duplicates, OfAnswersAreFound) {
  PairOf<FaultyQueuePairs> pair(key_of(Shape::load, OperationCode::send_imm, false), kFaultyPlan, 8,
                                4);
  pair.server.double_at = 3;
  EXPECT_TRUE(is_about_data(pair.run().initiator.outcome));
}

TEST(StreamFaults, ALostWriteIsFoundWhenValidating) {
  for (const Shape shape : {Shape::bandwidth, Shape::bidirectional, Shape::load}) {
    Pair pair(key_of(shape, OperationCode::write, true), kFaultyPlan);
    pair.client.lose_at = 298;
    const BothResults run = pair.run();
    EXPECT_EQ(run.target.outcome, Outcome::wrong_data) << name_of(shape);
  }
}

TEST(StreamFaults, WhatAnEarlierEpochWroteDoesNotPassForALostWrite) {
  for (const Shape shape : {Shape::bandwidth, Shape::bidirectional}) {
    for (const OperationCode operation : {OperationCode::write, OperationCode::write_imm}) {
      Pair pair(key_of(shape, operation, true), kFaultyPlan);
      ASSERT_EQ(pair.run().target.outcome, Outcome::ok);
      pair.client.lose_data_at = kFaultyPlan.iterations + 298;
      EXPECT_EQ(pair.run().target.outcome, Outcome::wrong_data) << name_of(operation);
    }
  }
}

TEST(Faults, AMessageCutShortIsSeenEvenWithoutValidation) {
  for (const OperationCode operation : {OperationCode::send, OperationCode::write_imm}) {
    for (const Shape shape : kFaultyShapes) {
      Pair pair(key_of(shape, operation, false), kFaultyPlan);
      pair.server.cut_bytes = 1;
      EXPECT_EQ(pair.run().target.outcome, Outcome::wrong_size)
          << name_of(shape) << name_of(operation);
    }
  }
}

TEST(Faults, AFailedPostEndsTheLoop) {
  for (const Shape shape : kFaultyShapes) {
    Pair pair(key_of(shape, OperationCode::send, false), kFaultyPlan);
    pair.client.fail_post_at = 3;
    const BothResults run = pair.run();
    EXPECT_EQ(run.initiator.outcome, Outcome::post_failed);
    EXPECT_TRUE(shape == Shape::load || run.initiator.message == 3U);
    EXPECT_EQ(run.target.outcome, Outcome::interrupted);
  }
}

TEST(Faults, AFailedListEndsTheLoop) {
  for (const Shape shape : {Shape::bandwidth, Shape::bidirectional}) {
    EpochPlan lists = kFaultyPlan;
    lists.post_list = 4;
    Pair pair(key_of(shape, OperationCode::send, false), lists);
    pair.client.fail_post_at = 6;
    const BothResults run = pair.run();
    EXPECT_EQ(run.initiator.outcome, Outcome::post_failed);
    EXPECT_EQ(run.initiator.message, 4U);  // the first of its list
    EXPECT_EQ(run.target.outcome, Outcome::interrupted);
  }
}

TEST(Faults, AFailedPostOfTheTargetEndsBoth) {
  for (const Shape shape : {Shape::latency, Shape::bidirectional, Shape::load}) {
    Pair pair(key_of(shape, OperationCode::send, false), kFaultyPlan);
    pair.server.fail_post_at = 3;
    const BothResults run = pair.run();
    EXPECT_EQ(run.target.outcome, Outcome::post_failed);
    EXPECT_EQ(run.initiator.outcome, Outcome::interrupted);
  }
}

TEST(Faults, AFailedCompletionEndsTheLoop) {
  for (const OperationCode operation : {OperationCode::send, OperationCode::write,
                                        OperationCode::read, OperationCode::compare_swap}) {
    for (const Shape shape : kFaultyShapes) {
      for (const std::uint64_t poll : {0, 20}) {
        Pair pair(key_of(shape, operation, false), plan_for(operation));
        pair.client.fail_poll_at = poll;
        const BothResults run = pair.run();
        EXPECT_EQ(run.initiator.outcome, Outcome::completion_failed)
            << name_of(shape) << name_of(operation);
        EXPECT_EQ(run.target.outcome, Outcome::interrupted);
      }
    }
  }
}

TEST(Faults, APeerThatHasGoneEndsTheLoop) {
  for (const OperationCode operation :
       {OperationCode::send, OperationCode::write, OperationCode::read}) {
    for (const Shape shape : kFaultyShapes) {
      Pair pair(key_of(shape, operation, false), plan_for(operation));
      pair.server.fail_poll_at = 0;
      const BothResults run = pair.run();
      EXPECT_EQ(run.initiator.outcome, Outcome::interrupted)
          << name_of(shape) << name_of(operation);
    }
  }
}

/// Nothing idles here for 10 ms, and an epoch that grows may be a minute long.
TEST(APeerThatHasGone, IsSeenInTheMidstOfAStream) {
  for (const Shape shape : {Shape::bandwidth, Shape::bidirectional}) {
    for (const Side side : {Side::initiator, Side::target}) {
      EpochPlan plan = kFaultyPlan;
      plan.iterations = 20'000'000;
      Pair pair(key_of(shape, OperationCode::send, false), plan);
      pair.told = side;
      const BothResults run = pair.run();
      const EpochResult& result = side == Side::target ? run.target : run.initiator;
      EXPECT_EQ(result.outcome, Outcome::interrupted) << name_of(shape);
      EXPECT_GT(result.message, 0U) << name_of(shape);
    }
  }
}

TEST(Rests, AreTakenInsteadOfSpinning) {
  for (const Shape shape : kFaultyShapes) {
    EpochPlan plan = kFaultyPlan;
    plan.events = true;
    Pair pair(key_of(shape, OperationCode::send, true), plan);
    pair.client.nap = pair.server.nap = 1ms;  // a completion wakes nobody here
    // The target has nothing to take until it waited, however late a busy machine runs it.
    pair.client.stall_at = 10;
    pair.client.stall_time = 4s;
    pair.client.stall_for = &pair.server;
    const BothResults run = pair.run();
    EXPECT_EQ(run.initiator.outcome, Outcome::ok);
    EXPECT_EQ(run.target.outcome, Outcome::ok);
    EXPECT_GT(pair.server.rests, 0U) << name_of(shape);
  }
}

TEST(Rests, DoNotHideAStall) {
  EpochPlan plan = kFaultyPlan;
  plan.events = true;
  Pair pair(key_of(Shape::bandwidth, OperationCode::send, false), plan);
  pair.client.nap = pair.server.nap = 10ms;
  pair.client.lose_at = 100;
  pair.limit = 50ms;
  const BothResults run = pair.run();
  EXPECT_NE(run.target.outcome, Outcome::ok);
  EXPECT_LT(pair.server.rests, 100U);  // not a thousand of 10 ms each
}

TEST(Rests, ThatFailEndTheLoop) {
  EpochPlan plan = kFaultyPlan;
  plan.events = true;
  Pair pair(key_of(Shape::latency, OperationCode::send, false), plan);
  pair.client.fail_rest = true;
  pair.server.stall_at = 10;
  EXPECT_EQ(pair.run().initiator.outcome, Outcome::completion_failed);
}

}  // namespace
}  // namespace rdmabench::inline v1::workload

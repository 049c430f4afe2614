// What must not pass: each test breaks one thing on the wire, and the loop that would hide it fails
// here.
#include <gtest/gtest.h>

#include "pair.h"

namespace rdmabench::workload {
namespace {

using transport::OperationCode;

constexpr EpochPlan kPlan{.iterations = 300, .size = 100, .depth = 8, .receives = 16};

LoopKey key(Shape shape, OperationCode operation, bool validate) {
  return {shape, operation, Side::initiator, validate, measure::clock_choice().source};
}

TEST(PingPongFaults, AWrongImmediateIsSeenEvenWithoutValidation) {
  Pair pair(key(Shape::latency, OperationCode::write_imm, false), kPlan);
  pair.client.wrong_immediate_at = 7;
  const BothResults run = pair.run();
  EXPECT_EQ(run.target.outcome, Outcome::wrong_immediate);
  EXPECT_EQ(run.initiator.outcome, Outcome::interrupted);
  EXPECT_EQ(run.initiator.message, 7U);
}

TEST(StreamFaults, AWrongImmediateIsSeenEvenWithoutValidation) {
  Pair pair(key(Shape::stream, OperationCode::write_imm, false), kPlan);
  pair.client.wrong_immediate_at = 299;
  const BothResults run = pair.run();
  EXPECT_EQ(run.target.outcome, Outcome::wrong_immediate);
  EXPECT_EQ(run.target.message, 299U);
  EXPECT_EQ(run.initiator.outcome, Outcome::interrupted);
}

class WrongByte : public ::testing::TestWithParam<std::tuple<Shape, OperationCode>> {};

TEST_P(WrongByte, IsFoundByTheTarget) {
  const auto [shape, operation] = GetParam();
  Pair pair(key(shape, operation, true), kPlan);
  pair.client.wrong_byte_at = 299;  // the last message: what a window still holds at the end
  const BothResults run = pair.run();
  EXPECT_EQ(run.target.outcome, Outcome::wrong_data);
  EXPECT_EQ(run.target.message, 299U);
  EXPECT_EQ(run.target.byte, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, WrongByte,
                         ::testing::Combine(::testing::Values(Shape::latency, Shape::stream),
                                            ::testing::Values(OperationCode::send,
                                                              OperationCode::write,
                                                              OperationCode::write_imm)));

TEST(ReadFaults, WrongDataInTheTargetsWindowIsFoundByTheReader) {
  for (const Shape shape : {Shape::latency, Shape::stream}) {
    Pair pair(key(shape, OperationCode::read, true), kPlan);
    pair.spoil_window = true;
    const BothResults run = pair.run();
    EXPECT_EQ(run.initiator.outcome, Outcome::wrong_data);
    EXPECT_EQ(run.initiator.byte, 5U);
    EXPECT_EQ(run.target.outcome, Outcome::interrupted);
  }
}

class LostMessage : public ::testing::TestWithParam<std::tuple<Shape, OperationCode>> {};

TEST_P(LostMessage, EndsBothSidesWithinTheLimit) {
  const auto [shape, operation] = GetParam();
  Pair pair(key(shape, operation, false), kPlan);
  pair.client.lose_at = 100;
  pair.limit = std::chrono::milliseconds(50);
  const BothResults run = pair.run();
  EXPECT_NE(run.initiator.outcome, Outcome::ok);
  EXPECT_NE(run.target.outcome, Outcome::ok);
}

INSTANTIATE_TEST_SUITE_P(All, LostMessage,
                         ::testing::Values(std::tuple(Shape::latency, OperationCode::send),
                                           std::tuple(Shape::latency, OperationCode::write),
                                           std::tuple(Shape::latency, OperationCode::write_imm),
                                           std::tuple(Shape::stream, OperationCode::send),
                                           std::tuple(Shape::stream, OperationCode::write_imm)));

TEST(StreamFaults, ALostWriteIsFoundWhenValidating) {
  Pair pair(key(Shape::stream, OperationCode::write, true), kPlan);
  pair.client.lose_at = 298;
  const BothResults run = pair.run();
  EXPECT_EQ(run.target.outcome, Outcome::wrong_data);
}

TEST(StreamFaults, WhatAnEarlierEpochWroteDoesNotPassForALostWrite) {
  for (const OperationCode operation : {OperationCode::write, OperationCode::write_imm}) {
    Pair pair(key(Shape::stream, operation, true), kPlan);
    ASSERT_EQ(pair.run().target.outcome, Outcome::ok);
    pair.client.lose_data_at = kPlan.iterations + 298;
    EXPECT_EQ(pair.run().target.outcome, Outcome::wrong_data) << transport::name(operation);
  }
}

TEST(Faults, AMessageCutShortIsSeenEvenWithoutValidation) {
  for (const OperationCode operation : {OperationCode::send, OperationCode::write_imm}) {
    for (const Shape shape : {Shape::latency, Shape::stream}) {
      Pair pair(key(shape, operation, false), kPlan);
      pair.server.cut_bytes = 1;
      EXPECT_EQ(pair.run().target.outcome, Outcome::wrong_size) << transport::name(operation);
    }
  }
}

TEST(Faults, AFailedPostEndsTheLoop) {
  for (const Shape shape : {Shape::latency, Shape::stream}) {
    Pair pair(key(shape, OperationCode::send, false), kPlan);
    pair.client.fail_post_at = 3;
    const BothResults run = pair.run();
    EXPECT_EQ(run.initiator.outcome, Outcome::post_failed);
    EXPECT_EQ(run.initiator.message, 3U);
    EXPECT_EQ(run.target.outcome, Outcome::interrupted);
  }
}

TEST(Faults, AFailedCompletionEndsTheLoop) {
  for (const OperationCode operation :
       {OperationCode::send, OperationCode::write, OperationCode::read}) {
    for (const Shape shape : {Shape::latency, Shape::stream}) {
      Pair pair(key(shape, operation, false), kPlan);
      pair.client.fail_poll_at = 0;
      const BothResults run = pair.run();
      EXPECT_EQ(run.initiator.outcome, Outcome::completion_failed) << transport::name(operation);
    }
  }
}

}  // namespace
}  // namespace rdmabench::workload

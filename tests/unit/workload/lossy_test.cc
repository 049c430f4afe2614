// Streams over a transport that loses messages and markers without a word: they end, say how many
// came, and still compare what came.
#include <gtest/gtest.h>

#include <tuple>

#include "pair.h"

namespace rdmabench::inline v1::workload {
namespace {

using namespace std::chrono_literals;
using transport::OperationCode;

constexpr EpochPlan kLossyPlan{
    .iterations = 300, .size = 100, .depth = 8, .receives = 16, .gap_q16 = kShortGap};

class Lossy : public ::testing::TestWithParam<std::tuple<Shape, OperationCode, bool>> {
 protected:
  Shape shape() const { return std::get<0>(GetParam()); }
  OperationCode operation() const { return std::get<1>(GetParam()); }
  bool notifies() const { return transport::notifies(operation()); }
  PairOf<LossyEndpoint> pair() const {
    return {key_of(shape(), operation(), std::get<2>(GetParam())), kLossyPlan};
  }

  void expect_ok(const BothResults& run, std::uint64_t from_client, std::uint64_t from_server) {
    ASSERT_EQ(run.initiator.outcome, Outcome::ok) << static_cast<int>(run.initiator.wait);
    ASSERT_EQ(run.target.outcome, Outcome::ok) << static_cast<int>(run.target.wait);
    EXPECT_GT(run.initiator.end, run.initiator.begin);
    if (!notifies()) return;
    EXPECT_EQ(run.target.arrived, from_client);
    if (shape() == Shape::bidirectional) {
      EXPECT_EQ(run.initiator.arrived, from_server);
    }
  }
};

TEST_P(Lossy, NothingIsLostWhereNothingWas) {
  auto both = pair();
  for (int epoch = 0; epoch < 5; ++epoch) expect_ok(both.run(), 300, 300);
}

TEST_P(Lossy, LostMessagesAreCounted) {
  auto both = pair();
  both.client.lose_every = 10;
  both.server.lose_every = 20;
  for (int epoch = 0; epoch < 2; ++epoch) expect_ok(both.run(), 270, 285);
  both.more = {50, 100};
  expect_ok(both.run(), 405, 428);
}

TEST_P(Lossy, TheLastMessagesMayBeLost) {
  auto both = pair();
  both.client.lose_at = both.server.lose_at = 299;
  expect_ok(both.run(), 299, 299);
}

TEST_P(Lossy, LostMarkersAreSentAgain) {
  auto both = pair();
  both.client.lose_every = 10;
  both.client.lost_markers = 3;
  expect_ok(both.run(), 270, 300);
  expect_ok(both.run(), 270, 300);  // whatever came late is not of this epoch
}

TEST_P(Lossy, ALostConfirmationIsLearntFromTheControlChannel) {
  auto both = pair();
  both.server.lost_markers = 1;
  expect_ok(both.run(), 300, 300);
  both.client.lose_every = both.server.lose_every = 10;
  both.server.lost_markers = 1;
  expect_ok(both.run(), 270, 270);
}

TEST_P(Lossy, ASilentPeerIsAStall) {
  auto both = pair();
  both.limit = 100ms;
  both.client.lose_every = 1;
  both.client.lost_markers = 1000;
  const BothResults run = both.run();
  EXPECT_NE(run.initiator.outcome, Outcome::ok);
  EXPECT_NE(run.target.outcome, Outcome::ok);
}

TEST_P(Lossy, APeerThatHasGoneEndsTheLoop) {
  auto both = pair();
  both.server.fail_poll_at = 0;
  const BothResults run = both.run();
  EXPECT_EQ(run.target.outcome, Outcome::completion_failed);
  EXPECT_EQ(run.initiator.outcome, Outcome::interrupted);
}

TEST_P(Lossy, WhatComesIsStillCompared) {
  if (!std::get<2>(GetParam())) GTEST_SKIP() << "compares nothing";
  auto both = pair();
  if (operation() != OperationCode::write_imm) both.client.lose_every = 7;
  both.client.wrong_byte_at = 299;
  EXPECT_EQ(both.run().target.outcome, Outcome::wrong_data);
}

INSTANTIATE_TEST_SUITE_P(
    All, Lossy,
    ::testing::Combine(::testing::Values(Shape::bandwidth, Shape::bidirectional),
                       ::testing::Values(OperationCode::send, OperationCode::send_imm,
                                         OperationCode::write, OperationCode::write_imm),
                       ::testing::Bool()),
    [](const auto& param_info) {
      return name_of(std::get<0>(param_info.param)) + "_" + name_of(std::get<1>(param_info.param)) +
             (std::get<2>(param_info.param) ? "_validated" : "");
    });

TEST(LossyPingPong, ALostMessageIsAStallThatNamesIt) {
  PairOf<LossyEndpoint> pair(key_of(Shape::latency, OperationCode::send, false), kLossyPlan);
  pair.client.lose_at = 100;
  pair.limit = 500ms;  // a busy machine takes the processor away for less
  const BothResults run = pair.run();
  EXPECT_TRUE(run.initiator.outcome == Outcome::stalled || run.target.outcome == Outcome::stalled);
  EXPECT_EQ(run.initiator.message, 100U);
  EXPECT_EQ(run.target.message, 100U);
}

TEST(LossyOpenLoop, DoesNotExist) {
  PairOf<LossyEndpoint> pair(key_of(Shape::bandwidth, OperationCode::send, false), kLossyPlan);
  for (const OperationCode operation : {OperationCode::send, OperationCode::send_imm}) {
    EXPECT_EQ(loop_over(pair.client, key_of(Shape::load, operation, false)).loop, nullptr);
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::workload

#include "fabric/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_agents.h"
#include "lead.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Short, but a busy machine may take a while for nothing.
constexpr auto kAnswer = std::chrono::milliseconds(300);
constexpr auto kStep = std::chrono::milliseconds(1200);

class CoordinatorTest : public ::testing::Test {
 protected:
  CoordinatorTest() { plan_.latency_sizes = {8}, plan_.bandwidth_sizes = {4096, 65536}; }

  void run(FakeAgents& agents, std::uint32_t size, Pattern pattern = Pattern::full) {
    Coordinator coordinator(agents, plan_, everybody(size, rails_of(plan_)), kept_,
                            {.answer_limit = kAnswer, .step_limit = kStep});
    std::uint32_t number = 0;
    for (const Round& round : schedule(pattern, size, 0, 1)) coordinator.measure(round, number++);
    coordinator.finish();
    matrix_ = coordinator.matrix();
  }

  /// Cells between those two, either way.
  std::size_t cells_with(std::uint32_t rank, bool failed) const {
    std::size_t count = 0;
    for (const Measurement& one : matrix_.measurements) {
      count += (one.sender == rank || one.receiver == rank) && one.error.empty() != failed;
    }
    return count;
  }

  FabricPlan plan_;
  Kept kept_;
  Matrix matrix_;
};

TEST_F(CoordinatorTest, MeasuresEveryOrderedPairOnEveryRail) {
  plan_.rails = {"a", "b"};
  FakeAgents agents(plan_);
  run(agents, 8);
  EXPECT_THAT(matrix_.lost, IsEmpty());
  EXPECT_THAT(matrix_.measurements, SizeIs(8 * 7 * 2 * 3));
  EXPECT_EQ(kept_.measurements.size(), matrix_.measurements.size());
  EXPECT_EQ(kept_.rounds, 7);
  EXPECT_THAT(agents.sent_home, SizeIs(8));
  for (const Measurement& one : matrix_.measurements) {
    EXPECT_EQ(one.error, "");
    EXPECT_EQ(one.value, simulated(one, one.sender).value);
    EXPECT_EQ(one.pattern, "round-robin");
    EXPECT_FALSE(one.confirming);
  }
}

/// One that is lost, gone without a word or makes no sense keeps nobody waiting.
TEST_F(CoordinatorTest, AsksAtTheEndWhatTheDevicesCarried) {
  FakeAgents agents(plan_);
  agents.die(1, 1);
  agents.tell(0, to_text(std::vector<DeviceBytes>{
                     {.device = "eth0", .planned = 5, .measurements = 1, .counted = 7.0}}));
  agents.tell(2, "{}");
  Coordinator coordinator(agents, plan_, everybody(4), kept_,
                          {.answer_limit = kAnswer, .step_limit = kStep});
  coordinator.measure(schedule(Pattern::full, 4, 0, 1)[0], 0);
  coordinator.finish(true);
  const std::vector<NodeBytes>& bytes = coordinator.matrix().bytes;
  ASSERT_THAT(bytes, SizeIs(3));
  EXPECT_EQ(bytes[0].rank, 0U);
  EXPECT_TRUE(bytes[0].told);
  ASSERT_THAT(bytes[0].devices, SizeIs(1));
  EXPECT_EQ(bytes[0].devices[0].device, "eth0");
  EXPECT_EQ(bytes[0].devices[0].counted, 7.0);
  EXPECT_EQ(bytes[1].rank, 2U);
  EXPECT_FALSE(bytes[1].told);
  EXPECT_EQ(bytes[2].rank, 3U);
  EXPECT_FALSE(bytes[2].told);
  EXPECT_THAT(coordinator.matrix().lost, SizeIs(1)) << "those that leave at the end are not lost";
}

TEST_F(CoordinatorTest, ADeadNodeIsNamedAndTheRestGoesOn) {
  FakeAgents agents(plan_);
  agents.die(3, 4);
  run(agents, 8);
  ASSERT_THAT(matrix_.lost, SizeIs(1));
  EXPECT_EQ(matrix_.lost[0].rank, 3U);
  EXPECT_THAT(matrix_.lost[0].reason, HasSubstr("closed the connection"));
  EXPECT_EQ(kept_.lost.size(), 1U);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    if (rank == 3) continue;
    EXPECT_GE(cells_with(rank, false), 6U * 2 * 3);
  }
  EXPECT_FALSE(agents.sent_home.contains(3));
}

TEST_F(CoordinatorTest, AHungNodeCostsOneDeadlineAndItsPartnersStay) {
  FakeAgents agents(plan_);
  agents.hang(5, 2);
  run(agents, 8);
  ASSERT_THAT(matrix_.lost, SizeIs(1));
  EXPECT_EQ(matrix_.lost[0].rank, 5U);
  EXPECT_THAT(matrix_.lost[0].reason, HasSubstr("no answer"));
  EXPECT_GE(cells_with(0, false), 6U * 2 * 3);
  for (const auto& [rank, order] : agents.orders) {
    if (order.number <= 4) continue;
    EXPECT_NE(order.targets[0].rank, 5U);
  }
}

TEST_F(CoordinatorTest, OneThatFindsItsPartnersSilentIsNotLostForIt) {
  FakeAgents agents(plan_);
  agents.cut(1, 2);
  run(agents, 4);
  EXPECT_THAT(matrix_.lost, IsEmpty());
  EXPECT_EQ(cells_with(1, true), 3U);  // one way, all sizes
  EXPECT_GT(agents.asked, 0);          // both ends were asked whether they are there
}

TEST_F(CoordinatorTest, OneThatAnswersButNeverEndsIsLostAtTheLimit) {
  FakeAgents agents(plan_);
  agents.stick(2);
  run(agents, 4);
  ASSERT_THAT(matrix_.lost, SizeIs(1));
  EXPECT_EQ(matrix_.lost[0].rank, 2U);
  EXPECT_THAT(matrix_.lost[0].reason, HasSubstr("did not end"));
  EXPECT_THAT(matrix_.measurements,
              Contains(::testing::Field(&Measurement::error, HasSubstr("sender was lost"))));
}

TEST_F(CoordinatorTest, WhoLiesIsLostAndNothingOfItIsKept) {
  const auto one_cell = [](const MeasureOrder& order, Measurement cell) {
    cell.receiver = order.targets[0].rank;
    return to_text(Results{.number = order.number, .last = true, .cells = {cell}});
  };
  const Measurement good{.metric = Metric::latency, .size_bytes = 8, .value = 1};
  const std::vector<std::function<std::string(const MeasureOrder&)>> lies{
      [](const MeasureOrder&) { return std::string("no JSON"); },
      [&](const MeasureOrder& order) { return one_cell(order, {.size_bytes = 12345, .value = 1}); },
      [&](const MeasureOrder& order) {
        return to_text(Results{.number = order.number + 1, .last = true, .cells = {}});
      },
      [&](const MeasureOrder& order) {
        return one_cell(order, {.rail = 9, .size_bytes = 8, .value = 1});
      },
      [&](const MeasureOrder& order) {
        Measurement cell = good;
        cell.receiver = order.targets[0].rank;
        return to_text(Results{.number = order.number, .last = true, .cells = {cell, cell}});
      },
      [](const MeasureOrder& order) {
        return R"({"number":)" + std::to_string(order.number) +
               R"(,"last":true,"cells":[{"receiver":0,"rail":0,"metric":"latency","size_bytes":8,)" +
               R"("value":-1,"p99_ns":null,"error":null,"notes":[]}]})";
      },
  };
  for (std::size_t i = 0; i < lies.size(); ++i) {
    SCOPED_TRACE(i);
    FakeAgents agents(plan_);
    agents.lie(1, lies[i]);
    run(agents, 4);
    ASSERT_THAT(matrix_.lost, SizeIs(1));
    EXPECT_EQ(matrix_.lost[0].rank, 1U);
    EXPECT_THAT(matrix_.lost[0].reason, HasSubstr("invalid answer"));
    std::size_t of_others = 0;
    for (const Measurement& one : matrix_.measurements) {
      EXPECT_TRUE(one.sender != 1 || !one.error.empty());
      of_others += one.sender != 1 && one.receiver != 1 && one.error.empty();
    }
    EXPECT_EQ(of_others, 3U * 2 * 3);
  }
}

TEST_F(CoordinatorTest, WhatASenderDoesNotSayIsAnError) {
  FakeAgents agents(plan_);
  agents.lie(1, [](const MeasureOrder& order) {
    return to_text(Results{.number = order.number, .last = true, .cells = {}});
  });
  run(agents, 4);
  EXPECT_THAT(matrix_.lost, IsEmpty());
  EXPECT_EQ(cells_with(1, true), 3U * 3);
}

TEST_F(CoordinatorTest, NothingOfALostSendersResultsIsKept) {
  plan_.bandwidth_sizes.clear();
  FakeAgents agents(plan_);
  agents.lie(1, [this](const MeasureOrder& order) {  // a result of each target, but never the last
    std::vector<Measurement> cells = answers(order, plan_, 1);
    for (Measurement& cell : cells) {
      cell.low = cell.value - 1;
      cell.high = cell.value + 1;
      cell.over = "loop";
      cell.line_bits_per_s = 1e11;
      cell.line_origin = "the link";
      cell.notes = {"a note"};
    }
    return to_text(Results{.number = order.number, .last = false, .cells = cells});
  });
  run(agents, 4);
  ASSERT_THAT(matrix_.lost, SizeIs(1));
  EXPECT_GT(cells_with(1, true), 0U);
  for (const Measurement& one : matrix_.measurements) {
    if (one.sender != 1) continue;
    EXPECT_THAT(one.error, HasSubstr("the sender was lost"));
    EXPECT_EQ(one.metric, Metric::latency);
    EXPECT_EQ(one.size_bytes, 8U);
    EXPECT_EQ(one.value + one.low + one.high + one.p99_ns + one.line_bits_per_s, 0);
    EXPECT_EQ(one.over + one.line_origin, "");
    EXPECT_THAT(one.notes, IsEmpty());
  }
}

TEST_F(CoordinatorTest, NodesThatNeverCameAreLostFromTheStart) {
  FakeAgents agents(plan_);
  AdmittedAgents admission = everybody(5);
  admission.lost.push_back({.rank = 4, .round = 0, .reason = "it never came"});
  Coordinator coordinator(agents, plan_, admission, kept_, {.answer_limit = kAnswer});
  coordinator.measure(schedule(Pattern::full, 5, 1, 1)[0], 0);
  EXPECT_EQ(coordinator.alive(), 4U);
  EXPECT_THAT(kept_.lost, SizeIs(1));
  for (const auto& [rank, order] : agents.orders) {
    EXPECT_NE(rank, 4U);
    EXPECT_NE(order.targets[0].rank, 4U);
  }
}

TEST_F(CoordinatorTest, TheSendersOfAnIncastStartTogetherAndAgainWithoutTheLost) {
  FakeAgents agents(plan_);
  agents.hang(2, 1);
  run(agents, 5, Pattern::many_to_one);
  EXPECT_EQ(agents.orders.front().second.senders, 4U);
  EXPECT_THAT(matrix_.lost, SizeIs(1));
  EXPECT_LE(agents.orders.back().second.senders, 3U);
}

TEST_F(CoordinatorTest, AFanIsOneOrder) {
  FakeAgents agents(plan_);
  run(agents, 6, Pattern::one_to_many);
  EXPECT_THAT(agents.orders, SizeIs(6));
  EXPECT_THAT(agents.orders[0].second.targets, SizeIs(5));
  EXPECT_THAT(matrix_.measurements, SizeIs(6 * 5 * 3));
}

TEST_F(CoordinatorTest, ResumingLeavesOutWhatIsThereAndGood) {
  FakeAgents first(plan_);
  first.cut(1, 2);
  run(first, 4);
  std::vector<Measurement> earlier = matrix_.measurements;
  const Measurement gone = earlier.back();
  earlier.pop_back();  // the writer died in the middle of a round
  Measurement doubted = earlier.front();
  doubted.round = 9;
  doubted.confirming = true;  // what it confirmed then says nothing of now
  earlier.push_back(doubted);

  FakeAgents second(plan_);
  Kept kept;
  Coordinator coordinator(second, plan_, everybody(4), kept, {.answer_limit = kAnswer});
  coordinator.resume(earlier);
  std::uint32_t number = 0;
  for (const Round& round : schedule(Pattern::full, 4, 0, 1)) coordinator.measure(round, number++);
  ASSERT_THAT(second.orders, SizeIs(2));  // the one that failed and the one that was cut off
  EXPECT_THAT(kept.measurements, SizeIs(2 * 3));
  EXPECT_THAT(coordinator.matrix().measurements, SizeIs(4 * 3 * 3));
  std::set<std::pair<std::uint32_t, std::uint32_t>> again;
  for (const auto& [rank, order] : second.orders) again.insert({rank, order.targets[0].rank});
  EXPECT_TRUE(again.contains({1, 2}));
  EXPECT_TRUE(again.contains({gone.sender, gone.receiver}));
}

TEST_F(CoordinatorTest, WithFewerThanTwoNodesNothingIsMeasured) {
  FakeAgents agents(plan_);
  agents.die(1);
  agents.die(2);
  run(agents, 3);
  EXPECT_THAT(matrix_.lost, SizeIs(2));  // the one that is left has nobody to measure
  for (const Measurement& one : matrix_.measurements) EXPECT_NE(one.error, "");
}

TEST(Confirm, RoundsHaveNoNodeTwiceInAStepAndEveryPairOnce) {
  const std::vector<Confirmation> wanted{
      {.round = 0, .sender = 0, .receiver = 1, .rail = 0},
      {.round = 0, .sender = 0, .receiver = 1, .rail = 1},  // rails go together
      {.round = 0, .sender = 1, .receiver = 0, .rail = 0},
      {.round = 0, .sender = 2, .receiver = 3, .rail = 0},
      {.round = 1, .sender = 0, .receiver = 3, .rail = 0},
  };
  const std::vector<Round> rounds = rounds_of(wanted);
  ASSERT_THAT(rounds, SizeIs(2));
  EXPECT_EQ(rounds[0].pattern, "confirm");
  EXPECT_THAT(rounds[0].steps, ElementsAre(Step{{0, 1}, {2, 3}}, Step{{1, 0}}));
  EXPECT_THAT(rounds[1].steps, ElementsAre(Step{{0, 3}}));
}

TEST_F(CoordinatorTest, ASlowSenderIsMeasuredAgainAndConfirmed) {
  plan_.latency_sizes.clear();
  plan_.bandwidth_sizes = {65536};
  FakeAgents agents(plan_);
  agents.lie(5, [this](const MeasureOrder& order) {
    std::vector<Measurement> cells = answers(order, plan_, 5);
    for (Measurement& cell : cells) cell.value /= 2;
    return to_text(Results{.number = order.number, .last = true, .cells = cells});
  });
  Coordinator coordinator(agents, plan_, everybody(16), kept_, {.answer_limit = kAnswer});
  std::uint32_t number = 0;
  for (const Round& round : schedule(Pattern::random, 16, 6, 1)) {
    coordinator.measure(round, number++);
  }
  int told = 0;
  const Attribution verdict = confirm(coordinator, number, {}, nullptr, [&] { ++told; });
  EXPECT_GT(told, 0);
  EXPECT_EQ(number, 6U + static_cast<std::uint32_t>(told));
  ASSERT_THAT(verdict.findings, SizeIs(1));
  EXPECT_EQ(verdict.findings[0].part, Part::sender);
  EXPECT_EQ(verdict.findings[0].a, 5U);
  EXPECT_TRUE(verdict.findings[0].confirmed);
  EXPECT_TRUE(kept_.measurements.back().confirming);
  EXPECT_EQ(kept_.measurements.back().pattern, "confirm");
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric

#include "fabric/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {
namespace {

using ::testing::HasSubstr;

/// Nobody is twice in a step; returns how many nodes are idle in it.
std::uint32_t idle_in(const Step& step, std::uint32_t nodes) {
  std::vector<bool> busy(nodes, false);
  for (const Pair& pair : step) {
    EXPECT_NE(pair.sender, pair.receiver);
    for (const std::uint32_t rank : {pair.sender, pair.receiver}) {
      EXPECT_LT(rank, nodes);
      if (rank >= nodes) return nodes;
      EXPECT_FALSE(busy[rank]) << "node " << rank << " twice";
      busy[rank] = true;
    }
  }
  return static_cast<std::uint32_t>(std::count(busy.begin(), busy.end(), false));
}

class Full : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Full, EveryOrderedPairOnceAndNobodyTwiceInAStep) {
  const std::uint32_t nodes = GetParam();
  const std::vector<Round> rounds = schedule(Pattern::full, nodes, 0, 7);
  EXPECT_EQ(rounds.size(), nodes - 1 + nodes % 2);
  std::vector<bool> seen(std::size_t{nodes} * nodes, false);
  std::size_t pairs = 0;
  for (const Round& round : rounds) {
    ASSERT_EQ(round.steps.size(), 2U);
    EXPECT_EQ(round.pattern, "round-robin");
    for (const Step& step : round.steps) {
      ASSERT_EQ(idle_in(step, nodes), nodes % 2);
      for (const Pair& pair : step) {
        auto cell = seen[std::size_t{pair.sender} * nodes + pair.receiver];
        ASSERT_FALSE(cell) << pair.sender << " to " << pair.receiver << " twice";
        cell = true;
        ++pairs;
      }
    }
  }
  EXPECT_EQ(pairs, std::size_t{nodes} * (nodes - 1));
}

INSTANTIATE_TEST_SUITE_P(Nodes, Full, ::testing::Values(2, 3, 4, 5, 8, 9, 16, 127, 128, 1024));

TEST(Schedule, TheMostNodesThereMayBe) {
  const std::vector<Round> rounds = schedule(Pattern::random, kMaxNodes, 8, 1);
  ASSERT_EQ(rounds.size(), 8U);
  for (const Round& round : rounds) {
    for (const Step& step : round.steps) EXPECT_EQ(idle_in(step, kMaxNodes), 0U);
  }
}

TEST(Schedule, RandomRoundsHaveNoPairTwiceAndFollowTheSeed) {
  const std::vector<Round> rounds = schedule(Pattern::random, 64, 8, 5);
  ASSERT_EQ(rounds.size(), 8U);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const Round& round : rounds) {
    for (const Pair& pair : round.steps[0]) {
      EXPECT_TRUE(seen.insert(std::minmax(pair.sender, pair.receiver)).second);
      EXPECT_NE(
          std::find(round.steps[1].begin(), round.steps[1].end(), Pair{pair.receiver, pair.sender}),
          round.steps[1].end());
    }
  }
  EXPECT_EQ(schedule(Pattern::random, 64, 8, 5)[3].steps[0], rounds[3].steps[0]);
  EXPECT_NE(schedule(Pattern::random, 64, 8, 6)[3].steps[0], rounds[3].steps[0]);
  EXPECT_EQ(schedule(Pattern::random, 8, 100, 5).size(), 7U);
}

TEST(Schedule, NoNodeAlwaysSendsFirst) {
  std::vector<int> first(32, 0);
  for (const Round& round : schedule(Pattern::full, 32, 0, 3)) {
    for (const Pair& pair : round.steps[0]) ++first[pair.sender];
  }
  for (const int times : first) {
    EXPECT_GT(times, 5);
    EXPECT_LT(times, 26);
  }
}

TEST(Schedule, FansMeetEverybodyInStepsThatAreNotTooWide) {
  for (const Pattern pattern : {Pattern::one_to_many, Pattern::many_to_one}) {
    const std::vector<Round> rounds = schedule(pattern, 130, 0, 1);
    ASSERT_EQ(rounds.size(), 130U);
    std::set<std::uint32_t> hubs;
    for (const Round& round : rounds) {
      std::size_t pairs = 0;
      for (const Step& step : round.steps) {
        EXPECT_LE(step.size(), kMaxFan);
        pairs += step.size();
        for (const Pair& pair : step) {
          hubs.insert(pattern == Pattern::one_to_many ? pair.sender : pair.receiver);
        }
      }
      EXPECT_EQ(pairs, 129U);
    }
    EXPECT_EQ(hubs.size(), 130U);
    EXPECT_EQ(schedule(pattern, 130, 4, 1).size(), 4U);
  }
}

TEST(Schedule, ABisectionCrossesTheMiddle) {
  const std::vector<Round> rounds = schedule(Pattern::bisection, 9, 0, 1);
  ASSERT_EQ(rounds.size(), 1U);
  EXPECT_EQ(idle_in(rounds[0].steps[0], 9), 1U);
  for (const Pair& pair : rounds[0].steps[0]) {
    EXPECT_LT(pair.sender, 4U);
    EXPECT_EQ(pair.receiver, pair.sender + 4);
  }
  EXPECT_EQ(schedule(Pattern::bisection, 8, 99, 1).size(), 4U);
}

TEST(Schedule, RefusesWhatIsNoFabric) {
  for (const std::uint32_t nodes : {0U, 1U, kMaxNodes + 1}) {
    EXPECT_THROW(schedule(Pattern::full, nodes, 0, 1), Error);
  }
  EXPECT_EQ(parse_pattern("many-to-one"), Pattern::many_to_one);
}

std::string complaint(const FabricPlan& plan) {
  return rdmabench::complaint([&] { check(plan); }).what();
}

TEST(Plan, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(complaint({.pattern = "ring"}), has_all("unknown `pattern` 'ring'", "bisection"));
  EXPECT_THAT(complaint({.bandwidth_sizes = {}, .latency_sizes = {}}),
              HasSubstr("`bandwidth_sizes` or `latency_sizes`"));
  EXPECT_THAT(complaint({.bandwidth_sizes = {0}}),
              HasSubstr("invalid size 0 in `bandwidth_sizes`"));
  EXPECT_THAT(complaint({.latency_sizes = {8, 8}}), HasSubstr("size 8 twice in `latency_sizes`"));
  EXPECT_THAT(complaint({.operation = "push"}), HasSubstr("unknown `operation` 'push'"));
  EXPECT_THAT(complaint({.transport = "pigeon"}), HasSubstr("unknown `transport` 'pigeon'"));
  EXPECT_THAT(complaint({.duration_s = 900}), HasSubstr("invalid `duration_s` 900"));
  EXPECT_THAT(complaint({.iterations = ~0ULL}), HasSubstr("`iterations` "));
  EXPECT_THAT(complaint({.timeout_s = 0}), HasSubstr("invalid `timeout_s` 0"));
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric

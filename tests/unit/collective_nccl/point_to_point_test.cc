#include "collective/point_to_point.h"

#include "results/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "../has_all.h"

namespace rdmabench::inline v1::collective {
namespace {

using testing::HasSubstr;

TEST(Wire, EveryNeighbourOnceAndNobodyTwiceInARound) {
  for (std::uint32_t ranks = 2; ranks < 9; ++ranks) {
    std::set<std::uint32_t> senders;
    for (const auto& round : point_to_point_rounds(ranks)) {
      std::set<std::uint32_t> busy;
      for (const auto& [from, to] : round) {
        EXPECT_EQ(to, (from + 1) % ranks);
        EXPECT_TRUE(senders.insert(from).second);
        EXPECT_TRUE(busy.insert(from).second) << ranks;
        EXPECT_TRUE(busy.insert(to).second) << ranks;
      }
    }
    EXPECT_EQ(senders.size(), ranks);
  }
  EXPECT_TRUE(point_to_point_rounds(1).empty());
}

Run run_with(double bus_bytes_per_s) {
  Run run;
  Row row;
  row.size_bytes = 1U << 20U;
  row.bus_bytes_per_s = bus_bytes_per_s;
  run.rows = {row, Row{}};
  return run;
}

TEST(Wire, TheShareIsOfTheSlowestPair) {
  collective::Run run = run_with(5e9);  // 40 Gb/s
  const PointToPoint pairs{{{0, 1, 100e9, "verbs mlx5_0:1 rc, memory host", ""},
                            {1, 0, 80e9, "verbs mlx5_0:1 rc, memory host", ""}}};
  join(run, pairs);
  ASSERT_EQ(run.rows[0].facts.size(), 2U);
  EXPECT_EQ(std::get<double>(run.rows[0].facts[0].value), 80e9);
  EXPECT_DOUBLE_EQ(std::get<double>(run.rows[0].facts[1].value), 0.5);
  EXPECT_TRUE(run.rows[1].facts.empty()) << "without a bus bandwidth there is no share";
  ASSERT_EQ(run.notes.size(), 2U);
  EXPECT_THAT(run.notes[1], has_all("rank 1 -> 0: 80 Gb/s", "verbs mlx5_0:1 rc, memory host"));
  EXPECT_THAT(to_table(run), HasSubstr("50 %"));
}

TEST(Wire, AStagedPairIsLabelledInTheRowsAndTheTable) {
  collective::Run run = run_with(5e9);
  PointToPoint pairs{{{0, 1, 100e9, "x", ""}, {1, 0, 80e9, "y", ""}}};
  pairs.pairs[0].staged = true;
  join(run, pairs);
  EXPECT_THAT(to_table(run), HasSubstr("50 %, staged"));
  ASSERT_EQ(run.rows[0].facts.size(), 3U);
  EXPECT_EQ(run.rows[0].facts[2].name, "wire_memory");
  EXPECT_EQ(std::get<std::string>(run.rows[0].facts[2].value), "staged");
}

TEST(Wire, TheStepsLeadFromAStreamToTheCollective) {
  collective::Run run = run_with(5e9);  // 40 Gb/s
  run.rows[0].facts = {{"protocol", std::string("LL")}};
  const PointToPoint wire{
      {{0, 1, 100e9, "x", ""}},
      {},
      {{"8 in flight", {4096, 8, 1, false}, {{0, 1, 95e9, "x", ""}}},
       {"a clear-to-send before each", {4096, 8, 1, true}, {{0, 1, 90e9, "x", ""}}}}};
  const std::string text = wire_steps_text(run, wire);
  EXPECT_THAT(text, HasSubstr("From that to all-reduce of 1M"));
  EXPECT_THAT(text, testing::ContainsRegex("one stream of writes of 1M +100\n"));
  EXPECT_THAT(text, testing::ContainsRegex("8 in flight +95.0 +-5.0 %\n"));
  EXPECT_THAT(text, testing::ContainsRegex("a clear-to-send before each +90.0 +-5.3 %\n"));
  EXPECT_THAT(text, testing::ContainsRegex("without the flags of the protocol +45.0 +-50.0 %\n"));
  EXPECT_THAT(text, testing::ContainsRegex("the collective: .* +40.0 +-11.1 %\n"));
  join(run, wire);
  const auto fact = [&](std::string_view name) {
    return report::value_of<double>(run.rows[0].facts, name);
  };
  EXPECT_EQ(fact("wire_nccl_bits_per_s"), 45e9) << "of data, without the flags";
  EXPECT_EQ(fact("wire_nccl_share"), 40.0 / 45);
  EXPECT_FALSE(any_failed(wire));
}

TEST(Wire, AStepThatFailsIsSaid) {
  collective::Run run = run_with(5e9);
  const PointToPoint wire{{{0, 1, 100e9, "x", ""}},
                          {},
                          {{"8 in flight", {4096, 8, 1, false}, {{0, 1, 0, "", "no room"}}}}};
  EXPECT_TRUE(any_failed(wire));
  EXPECT_THAT(wire_steps_text(run, wire), HasSubstr("8 in flight: rank 0 -> 1: no room"));
  join(run, wire);
  EXPECT_EQ(report::value_of<double>(run.rows[0].facts, "wire_nccl_bits_per_s"), std::nullopt);
}

TEST(Wire, AFasterWayIsExplained) {
  collective::Run run = run_with(50e9);
  join(run, {{{0, 1, 100e9, "x", ""}}});
  EXPECT_THAT(to_table(run), has_all("400 %", "NVLink"));
}

TEST(Wire, AFailedPairIsSaidAndLeavesNoShare) {
  collective::Run run = run_with(5e9);
  const PointToPoint pairs{{{0, 1, 100e9, "x", ""}, {1, 0, 0, "", "no route\x1b[2J"}}};
  join(run, pairs);
  EXPECT_TRUE(run.rows[0].facts.empty());
  EXPECT_THAT(run.notes[1], HasSubstr("no route?[2J"));
  EXPECT_THAT(to_table(run), HasSubstr("pair of the wire failed"));
}

TEST(Wire, OneRankHasNone) {
  collective::Run run = run_with(5e9);
  join(run, {});
  EXPECT_THAT(run.notes[0], HasSubstr("one rank has no neighbour"));
}

}  // namespace
}  // namespace rdmabench::inline v1::collective

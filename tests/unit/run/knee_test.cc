#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "run/load_curve.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::ElementsAre;

/// A curve of medians in microseconds, from the lightest load; all rates are kept.
std::vector<report::LoadResult> curve(const std::vector<double>& medians_us) {
  std::vector<report::LoadResult> rows;
  for (const double us : medians_us) {
    report::LoadResult row;
    row.offered_messages_per_s = row.achieved_messages_per_s = 1e6;
    row.latency.latency.p50_ns = us * 1e3;
    rows.push_back(row);
  }
  return rows;
}

struct Found {
  int knee = -1;
  bool reliable = true;
  bool operator==(const Found&) const = default;
};

Found found(std::vector<report::LoadResult> rows) {
  mark_knee(rows);
  Found seen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].knee) continue;
    EXPECT_EQ(seen.knee, -1) << "one at most";
    seen = {static_cast<int>(i), rows[i].knee_reliable};
  }
  return seen;
}

TEST(Knee, IsTheLastBeforeLatencyTakesOff) {
  EXPECT_EQ(found(curve({5, 5, 6, 50, 900})), (Found{2, true}));
  EXPECT_EQ(found(curve({5, 5, 6, 7})), (Found{-1, true}));
  EXPECT_EQ(found({}), (Found{-1, true}));
}

TEST(Knee, IsNotReliableWhereLatencyWasNormalAgainAtAHigherLoad) {
  EXPECT_EQ(found(curve({5, 5, 50, 6, 6, 900})), (Found{1, false}));
}

TEST(Knee, IsWhereTheRateIsNoLongerKept) {
  std::vector<report::LoadResult> rows = curve({5, 5, 5});
  rows[2].achieved_messages_per_s = 0.9e6;
  EXPECT_EQ(found(rows), (Found{1, true}));
  rows[0].achieved_messages_per_s = 0.9e6;
  EXPECT_EQ(found(rows), (Found{-1, true})) << "no load was carried";
}

TEST(Knee, IsWhereTheTailTakesOff) {
  std::vector<report::LoadResult> rows = curve({5, 5, 5, 900});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].latency.latency.p99_ns = i < 2 ? 10e3 : 60e3;
  }
  EXPECT_EQ(found(rows), (Found{1, true}));
}

TEST(Knee, IsNotReliableWhereOnlyTheLowestLoadsHaveTakenOff) {
  std::vector<report::LoadResult> rows = curve({124075, 90000, 219, 230, 900});
  EXPECT_EQ(found(rows), (Found{-1, true})) << "no load is the highest normal one";
  mark_knee(rows);
  EXPECT_FALSE(rows[0].knee_reliable);
  EXPECT_TRUE(rows[0].saturated);
  EXPECT_FALSE(rows[2].saturated);
}

TEST(Knee, TellsTheRowsThatHaveTakenOff) {
  std::vector<report::LoadResult> rows = curve({5, 50, 6});
  mark_knee(rows);
  EXPECT_THAT((std::vector<bool>{rows[0].saturated, rows[1].saturated, rows[2].saturated}),
              ElementsAre(false, true, false));
}

}  // namespace
}  // namespace rdmabench::inline v1::run

#include "rdmabench/analysis/comparison.h"

#include <gtest/gtest.h>

#include <vector>

namespace rdmabench::inline v1::analysis {
namespace {

std::vector<Timed> series(std::vector<double> values, double begin, double step) {
  std::vector<Timed> timed;
  for (const double value : values) {
    timed.push_back({begin + step * static_cast<double>(timed.size()), value});
  }
  return timed;
}

TEST(Drift, OfWhatRisesIsFound) {
  const auto a = series({1, 2, 3, 4, 5, 6}, 0, 2);
  const auto b = series({11, 12, 13, 14, 15, 16}, 1, 2);
  const Drift drift = find_drift(a, b);
  EXPECT_LT(drift.p_value, 0.001);
  EXPECT_NEAR(drift.change, 0.5 * 10, 1e-9) << "half a unit a second for a side's 10 seconds";
}

TEST(Drift, IsNotCarriedOverTheTimeBetweenTheSides) {
  const auto a = series({1, 2, 3, 4, 5}, 0, 1);
  const auto b = series({1, 2, 3, 4, 5, 6}, 30 * 86400, 1);
  EXPECT_NEAR(find_drift(a, b).change, 5, 1e-9);
}

// Kendall: 5 values in order have S = 10, variance 5*4*15/18 = 16.667; z = 9/4.082 = 2.2045.
TEST(Drift, OfOneSideIsKendalls) {
  const Drift drift = find_drift(series({1, 2, 3, 4, 5}, 0, 1), {});
  EXPECT_NEAR(drift.p_value, 0.02748, 1e-4);
}

TEST(Drift, ADifferenceOfTheSidesIsNone) {
  const auto a = series({1, 1.1, 0.9, 1.05, 0.95}, 0, 1);
  const auto b = series({5, 4.9, 5.1, 4.95, 5.05}, 100, 1);
  EXPECT_GT(find_drift(a, b).p_value, 0.5);
}

TEST(Drift, NeedsTimesThatDiffer) {
  EXPECT_EQ(find_drift(series({1, 2, 3, 4, 5}, 0, 0), {}).p_value, 1);
  EXPECT_EQ(find_drift({}, {}).p_value, 1);
  EXPECT_EQ(find_drift(series({2, 2, 2, 2, 2}, 0, 1), {}).p_value, 1) << "nothing but ties";
}

TEST(LaunchSequence, KnowsWhoRanWhen) {
  const std::vector<double> a{0, 3, 4, 7};
  const std::vector<double> b{1, 2, 5, 6};
  const LaunchSequence order = find_order(a, b);
  EXPECT_EQ(order.pattern, "ABBAABBA");
  EXPECT_FALSE(order.separate);
  EXPECT_EQ(order.blocks, 5U);
}

TEST(LaunchSequence, AllOfOneFirstIsSeparate) {
  const std::vector<double> early{0, 1};
  const std::vector<double> late{2, 3};
  EXPECT_TRUE(find_order(early, late).separate);
  EXPECT_TRUE(find_order(late, early).separate);
  const std::vector<double> touching{1, 5};
  EXPECT_FALSE(find_order(early, touching).separate) << "within one second nobody knows";
  EXPECT_FALSE(find_order({}, late).known);
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis

#include "analysis/power.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rdmabench::inline v1::analysis {
namespace {

std::uint32_t needed(double cv, double margin) {
  return launches_needed({.deviation = log_deviation(cv), .margin = margin}).value_or(0);
}

// A simulation of the same test, with 500 trials for each: what is planned must lie beside it.
TEST(Power, AgreesWithASimulation) {
  EXPECT_NEAR(needed(0.01, 0.02), 7, 1);
  EXPECT_NEAR(needed(0.02, 0.05), 5, 1);
  EXPECT_NEAR(needed(0.03, 0.05), 9, 1);
  EXPECT_NEAR(needed(0.05, 0.05), 22, 3);
  EXPECT_NEAR(needed(0.05, 0.10), 7, 1);
  EXPECT_NEAR(needed(0.10, 0.05), 90, 10);
  EXPECT_NEAR(needed(0.10, 0.10), 24, 3);
}

// Many launches: n = 2 (z(0.95) + z(0.95))^2 (sigma / delta)^2 for a power of 90 %.
TEST(Power, ApproachesTheNormalApproximation) {
  const double sigma = log_deviation(0.30);
  const double expected = 2 * std::pow((1.644854 + 1.644854) * sigma / std::log1p(0.05), 2);
  EXPECT_NEAR(needed(0.30, 0.05), expected, expected * 0.01);
}

TEST(Power, GrowsWithLaunches) {
  const PowerQuestion question{.deviation = 0.03};
  double last = 0;
  for (const std::uint32_t launches : {2U, 3U, 5U, 8U, 13U, 50U, 500U}) {
    const double power = power_of(question, launches);
    EXPECT_GE(power, last) << launches;
    last = power;
  }
  EXPECT_GT(last, 0.999);
}

TEST(Power, OfADifferenceBeyondTheMargin) {
  const PowerQuestion question{.deviation = 0.02, .difference = 0.10};
  const auto launches = launches_needed(question);
  ASSERT_TRUE(launches);
  EXPECT_GE(power_of(question, *launches), 0.9);
  EXPECT_LT(power_of(question, *launches - 1), 0.9);
}

TEST(Power, OnTheMarginNoNumberIsEnough) {
  EXPECT_FALSE(launches_needed({.deviation = 0.02, .difference = std::log1p(0.05)}));
}

TEST(Power, WithoutNoiseTwoAreEnough) {
  EXPECT_EQ(launches_needed({.deviation = 0}), 2U);
}

TEST(WelchDegrees, OfEqualPartsAddUp) {
  EXPECT_NEAR(welch_degrees({{0.1, 4}, {0.1, 4}}), 8, 1e-12);
  EXPECT_NEAR(welch_degrees({{0.1, 4}, {0, 9}}), 4, 1e-12);
  EXPECT_NEAR(welch_degrees({{0, 4}, {0, 4}}), 8, 1e-12) << "no noise: all of them";
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis

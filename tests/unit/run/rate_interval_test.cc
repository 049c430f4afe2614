#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "run/sinks.h"

namespace rdmabench::inline v1::run {
namespace {

TEST(RateInterval, HoldsTheMeanAlsoWhereOneEpochStalled) {
  std::vector<double> times(19, 100.0);  // ns for a message
  times.push_back(2000.0);
  const double rate = 20 / (19 * 100.0 + 2000.0);
  const RateInterval interval = rate_interval(rate, times);
  EXPECT_LT(interval.low, rate);
  EXPECT_GT(interval.high, rate);
  EXPECT_LE(interval.high, 1 / 100.0 * (1 + 1e-9));  // the fastest epoch
}

TEST(RateInterval, IsStudentsTOfTheTimes) {
  // Mean 110, variance 80, t(0.995, 5) = 4.0321.
  const std::vector<double> times{100, 120, 110, 120, 100, 110};
  const double half = 4.0321 * std::sqrt(80.0 / 6);
  const RateInterval interval = rate_interval(1.0, times);
  EXPECT_NEAR(interval.low, 110 / (110 + half), 1e-4);
  EXPECT_NEAR(interval.high, 110 / std::max(110 - half, 100.0), 1e-4);
}

TEST(RateInterval, OfEqualEpochsIsTheRateAndOfOneIsUnknown) {
  const std::vector<double> equal(6, 100.0);
  EXPECT_DOUBLE_EQ(rate_interval(7.0, equal).low, 7.0);
  EXPECT_DOUBLE_EQ(rate_interval(7.0, equal).high, 7.0);
  EXPECT_EQ(rate_interval(7.0, std::vector<double>(1, 100.0)).high, 0.0);
  EXPECT_EQ(rate_interval(7.0, {}).high, 0.0);
}

TEST(RateInterval, OfFewEpochsMayExceedTheFastest) {
  const RateInterval two = rate_interval(100, std::vector<double>{1, 1.5});  // t(0.975, 1) = 12.7
  EXPECT_NEAR(two.high, 100 * std::exp(12.7062 * std::log(1.5) / 2), 1);
  EXPECT_NEAR(two.low * two.high, 100 * 100, 1e-6);
  EXPECT_GT(rate_interval(100, std::vector<double>{1.00, 1.01, 1.02}).high, 101);
  EXPECT_EQ(rate_interval(1e9, std::vector<double>{1, 1000}).high, 1e18) << "it says nothing";
}

}  // namespace
}  // namespace rdmabench::inline v1::run

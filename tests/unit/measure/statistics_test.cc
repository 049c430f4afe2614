#include "rdmabench/measure/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "random_samples.h"

namespace rdmabench::measure {
namespace {

TEST(NearestRank, IsTheSmallestSampleThatEnoughSamplesDoNotExceed) {
  // The definition in whole numbers, for p = tenths / 10 per cent.
  for (std::uint64_t count = 1; count <= 300; ++count) {
    for (std::uint64_t tenths = 1; tenths <= 1000; ++tenths) {
      std::uint64_t rank = 1;
      while (rank * 1000 < tenths * count) ++rank;
      ASSERT_EQ(nearest_rank(count, static_cast<double>(tenths) / 10), rank - 1)
          << count << " samples, p" << static_cast<double>(tenths) / 10;
    }
  }
}

TEST(NearestRank, DoesNotSufferFromFloatingPoint) {
  EXPECT_EQ(nearest_rank(1000, 99.9), 998U);  // 99.9 / 100 * 1000 rounds to above 999
  EXPECT_EQ(nearest_rank(10000, 99.99), 9998U);
  EXPECT_EQ(nearest_rank(1'000'000'000'000'000'000U, 99.99), 999'899'999'999'999'999U);
}

TEST(NearestRank, StaysWithinTheSamples) {
  EXPECT_EQ(nearest_rank(0, 50), 0U);
  EXPECT_EQ(nearest_rank(1, 0.0001), 0U);
  EXPECT_EQ(nearest_rank(5, 100), 4U);
  EXPECT_EQ(nearest_rank(5, 1000), 4U);
  EXPECT_EQ(nearest_rank(5, -1), 0U);
  EXPECT_EQ(nearest_rank(5, std::nan("")), 0U);
}

TEST(PercentileSupported, AsksForTenSamplesBeyond) {
  EXPECT_TRUE(percentile_supported(20, 50));
  EXPECT_FALSE(percentile_supported(19, 50));
  EXPECT_TRUE(percentile_supported(1000, 99));
  EXPECT_FALSE(percentile_supported(999, 99));
  EXPECT_TRUE(percentile_supported(10000, 99.9));
  EXPECT_FALSE(percentile_supported(9999, 99.9));
  EXPECT_TRUE(percentile_supported(100000, 99.99));
  EXPECT_FALSE(percentile_supported(99999, 99.99));
  EXPECT_FALSE(percentile_supported(1'000'000, 100));
}

TEST(Percentile, AgreesWithTheSortedSamples) {
  for (const auto& [shape, samples] : latency_shapes(1001)) {
    Samples sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const std::vector<double> doubles(samples.begin(), samples.end());
    for (const double p : {0.1, 10.0, 50.0, 75.0, 99.0, 99.9, 100.0}) {
      const auto truth = sorted[static_cast<std::size_t>(std::ceil(p * 10.01 - 1e-6)) - 1];
      EXPECT_EQ(percentile(samples, p), truth) << shape << " p" << p;
      EXPECT_EQ(percentile(doubles, p), static_cast<double>(truth)) << shape << " p" << p;
    }
    EXPECT_EQ(median(samples), sorted[500]) << shape;
  }
}

TEST(MedianAbsoluteDeviation, AgreesWithTheSortedDistances) {
  for (const auto& [shape, samples] : latency_shapes(1000)) {
    Samples sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const std::uint64_t center = sorted[499];
    for (auto& value : sorted) value = std::max(value, center) - std::min(value, center);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(median_absolute_deviation(samples), sorted[499]) << shape;
  }
  EXPECT_DOUBLE_EQ(median_absolute_deviation(std::vector<double>{1.5, 2.5, 4.5, 9.5, 100}), 3.0);
}

TEST(MeanAndDeviation, AreThoseOfTheSample) {
  const std::vector<double> samples{2.5, 4.5, 4.5, 4.5, 5.5, 5.5, 7.5, 9.5};
  EXPECT_DOUBLE_EQ(mean(samples), 5.5);
  EXPECT_DOUBLE_EQ(stddev(samples), std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(stddev(Samples{2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(stddev(std::vector<double>{1e15 + 1, 1e15 + 2, 1e15 + 3}), 1.0);
}

TEST(Statistics, OfNothingAreZero) {
  const std::vector<double> none;
  EXPECT_EQ(median(none), 0);
  EXPECT_EQ(median_absolute_deviation(none), 0);
  EXPECT_EQ(mean(none), 0);
  EXPECT_EQ(stddev(none), 0);
  EXPECT_EQ(stddev(std::vector<double>{3.0}), 0);
  EXPECT_EQ(percentile(Samples{}, 99), 0U);
}

/// P(B <= k) for k = 0..n of B binomial(n, 1/2), summed term by term.
std::vector<long double> binomial_distribution(std::uint64_t n) {
  std::vector<long double> distribution;
  long double sum = 0;
  const auto size = static_cast<long double>(n);
  for (std::uint64_t k = 0; k <= n; ++k) {
    const auto i = static_cast<long double>(k);
    sum += std::exp(std::lgamma(size + 1) - std::lgamma(i + 1) - std::lgamma(size - i + 1) -
                    size * std::log(2.0L));
    distribution.push_back(sum);
  }
  return distribution;
}

TEST(MedianInterval, CoversTheMedianWith95PercentByTheExactBinomial) {
  for (std::uint64_t count = 6; count < 5000; count += 1 + count / 20) {
    const RankInterval interval = median_interval(count);
    ASSERT_EQ(interval.low, count - 1 - interval.high);
    const auto distribution = binomial_distribution(count);
    // Index `low` lies above the median when at most `low` samples lie below it; and so for `high`.
    EXPECT_LE(2 * distribution[interval.low], 0.05L) << count;
    EXPECT_GT(2 * distribution[interval.low + 2], 0.05L) << count << ": two ranks too wide";
  }
}

TEST(MedianInterval, IsTheWholeRangeOfTooFewSamples) {
  for (std::uint64_t count = 1; count < 6; ++count) {
    EXPECT_EQ(median_interval(count).low, 0U);
    EXPECT_EQ(median_interval(count).high, count - 1);
  }
  EXPECT_EQ(median_interval(0).high, 0U);
}

TEST(MedianInterval, HoldsTheTrueMedianInNineteenTrialsOfTwenty) {
  std::mt19937_64 random(4);
  std::exponential_distribution<double> latency(1);
  constexpr int kTrials = 2000;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(101);
    for (double& sample : samples) sample = latency(random);
    std::sort(samples.begin(), samples.end());
    const RankInterval interval = median_interval(samples.size());
    held += samples[interval.low] <= std::log(2) && std::log(2) <= samples[interval.high] ? 1 : 0;
  }
  EXPECT_GT(held, 0.94 * kTrials);
  EXPECT_LT(held, 0.98 * kTrials);
}

}  // namespace
}  // namespace rdmabench::measure

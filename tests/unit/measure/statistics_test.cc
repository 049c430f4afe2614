#include "rdmabench/measure/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>
#include <vector>

#include "measure/distributions.h"
#include "random_samples.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::measure {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;

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

TEST(Statistics, OfANumberThatIsNoneAreNone) {
  std::vector<double> samples(100);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = i % 3 == 0 ? std::nan("") : static_cast<double>(i);
  }
  for (const auto& statistic : std::initializer_list<double (*)(std::span<const double>)>{
           [](auto all) { return percentile(all, 99); }, [](auto all) { return median(all); },
           [](auto all) { return median_absolute_deviation(all); },
           [](auto all) { return mean(all); }, [](auto all) { return stddev(all); }}) {
    EXPECT_TRUE(std::isnan(statistic(samples)));
  }
  for (const Estimate& one :
       {estimate_percentile(samples, 50), estimate_mean(samples), estimate_dependent_mean(samples),
        estimate_dependent_median(samples)}) {
    EXPECT_TRUE(std::isnan(one.value) && std::isnan(one.low) && std::isnan(one.high));
    EXPECT_FALSE(one.covers);
    EXPECT_EQ(one.count, samples.size());
  }
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

TEST(TQuantile, IsThatOfTheTables) {
  EXPECT_NEAR(t_quantile(0.975, 1), 12.706204736, 1e-8);
  EXPECT_NEAR(t_quantile(0.975, 10), 2.2281388520, 1e-9);
  EXPECT_NEAR(t_quantile(0.9995, 30), 3.6459586350, 1e-9);
  EXPECT_NEAR(t_quantile(0.975, 1e9), 1.9599639845, 1e-8);
}

TEST(TQuantile, IsTheInverse) {
  EXPECT_EQ(t_quantile(0.5, 3), 0);
  for (const double degrees : {0.5, 1.0, 2.7, 30.0, 1e4, 1e8}) {
    for (const double p : {1e-12, 0.001, 0.3, 0.49, 0.7, 0.99, 1 - 1e-9}) {
      const double tail = std::min(p, 1 - p);
      const double t = std::abs(t_quantile(p, degrees));
      EXPECT_NEAR(t_below(-t, degrees) / tail, 1, 1e-9) << p << ' ' << degrees;
      EXPECT_EQ(t_quantile(p, degrees) < 0, p < 0.5);
    }
  }
}

TEST(PercentileInterval, OfABillionSamplesIsNarrow) {
  const RankInterval interval = percentile_interval(1'000'000'000, 50, 0.95);
  const double half = 1.959964 * std::sqrt(1e9) / 2;
  EXPECT_NEAR(static_cast<double>(interval.low), 5e8 - half, 2);
  EXPECT_NEAR(static_cast<double>(interval.high), 5e8 + half, 2);
}

/// P(B <= k) for k = 0..n of B binomial(n, success), summed term by term.
std::vector<long double> binomial_distribution(std::uint64_t n, long double success) {
  std::vector<long double> distribution;
  long double sum = 0;
  const auto size = static_cast<long double>(n);
  for (std::uint64_t k = 0; k <= n; ++k) {
    const auto i = static_cast<long double>(k);
    sum += std::exp(std::lgamma(size + 1) - std::lgamma(i + 1) - std::lgamma(size - i + 1) +
                    i * std::log(success) + (size - i) * std::log(1 - success));
    distribution.push_back(sum);
  }
  return distribution;
}

TEST(PercentileInterval, IsTheNarrowestThatTheExactBinomialAllows) {
  for (const double p : {1.0, 50.0, 90.0, 99.0}) {
    for (const double confidence : {0.9, 0.95, 0.999}) {
      for (std::uint64_t count = 2; count < 3000; count += 1 + count / 7) {
        const RankInterval interval = percentile_interval(count, p, confidence);
        const auto below = binomial_distribution(count, p / 100);
        const auto tail = static_cast<long double>(1 - confidence) / 2;
        // Index i lies above the percentile when at most i samples lie below it.
        const bool low = below[0] <= tail;
        const bool high = 1 - below[count - 1] <= tail;
        ASSERT_EQ(interval.covers, low && high) << count << " p" << p << ' ' << confidence;
        if (low) {
          EXPECT_LE(below[interval.low], tail) << count << " p" << p << ' ' << confidence;
          EXPECT_GT(below[interval.low + 1], tail) << count << " p" << p << ' ' << confidence;
        } else {
          EXPECT_EQ(interval.low, 0U);
        }
        if (high) {
          EXPECT_LE(1 - below[interval.high], tail) << count << " p" << p << ' ' << confidence;
          const long double higher = interval.high == 0 ? 1 : 1 - below[interval.high - 1];
          EXPECT_GT(higher, tail) << count << " p" << p << ' ' << confidence;
        } else {
          EXPECT_EQ(interval.high, count - 1);
        }
      }
    }
  }
}

TEST(PercentileInterval, TellsTooFewSamples) {
  EXPECT_FALSE(percentile_interval(0, 50).covers);
  EXPECT_EQ(percentile_interval(0, 50).high, 0U);
  EXPECT_FALSE(percentile_interval(5, 50).covers);
  EXPECT_TRUE(percentile_interval(6, 50).covers);
  EXPECT_FALSE(percentile_interval(367, 99).covers);
  EXPECT_TRUE(percentile_interval(368, 99).covers);
}

TEST(PercentileInterval, EndsWhereOneLessThePercentileIsRoundedToOne) {
  const RankInterval interval = percentile_interval(10, 1e-15, 0.95);
  EXPECT_FALSE(interval.covers);
  EXPECT_EQ(interval.low, 0U);
  EXPECT_EQ(interval.high, 0U);
}

TEST(PercentileInterval, IsRightForVeryManySamples) {
  // There the normal approximation is right to a thousandth of the interval's width.
  for (const double count : {1e6, 1e9, 1e12}) {
    const RankInterval interval = percentile_interval(static_cast<std::uint64_t>(count), 99);
    const double half = 1.95996 * std::sqrt(count * 0.99 * 0.01);
    EXPECT_NEAR(static_cast<double>(interval.low), 0.99 * count - half, 1 + 0.001 * half) << count;
    EXPECT_NEAR(static_cast<double>(interval.high), 0.99 * count + half, 1 + 0.001 * half) << count;
  }
}

TEST(PercentileInterval, RefusesWhatIsNoProbability) {
  for (const double p : {0.0, 100.0, std::nan("")}) {
    EXPECT_THROW(percentile_interval(10, p), Error);
  }
  for (const double confidence : {0.0, 1.0, std::nan("")}) {
    EXPECT_THROW(percentile_interval(10, 50, confidence), Error);
    EXPECT_THROW(estimate_mean(std::vector<double>{1, 2}, confidence), Error);
  }
}

std::vector<std::vector<double>> exponential_trials() {
  std::mt19937_64 random(4);
  std::exponential_distribution<double> latency(1);
  std::vector<std::vector<double>> trials(2000, std::vector<double>(400));
  for (std::vector<double>& samples : trials) {
    for (double& sample : samples) sample = latency(random);
  }
  return trials;
}

/// How many of 2000 trials' intervals hold the truth.
template <class Interval>
int held(double truth, Interval&& interval) {
  static const std::vector<std::vector<double>> trials = exponential_trials();
  int held = 0;
  for (const std::vector<double>& samples : trials) {
    const Estimate estimate = interval(samples);
    EXPECT_TRUE(estimate.covers);
    EXPECT_EQ(estimate.count, 400U);
    EXPECT_LE(estimate.low, estimate.value);
    EXPECT_LE(estimate.value, estimate.high);
    held += estimate.low <= truth && truth <= estimate.high ? 1 : 0;
  }
  return held;
}

TEST(Estimate, HoldsTheTruthAsOftenAsAskedFor) {
  const auto percentile = [](double p, double confidence) {
    return [=](const auto& samples) { return estimate_percentile(samples, p, confidence); };
  };
  EXPECT_THAT(held(std::log(2), percentile(50, 0.95)), AllOf(Gt(1880), Lt(1960)));
  EXPECT_THAT(held(std::log(2), percentile(50, 0.8)), AllOf(Gt(1570), Lt(1710)));
  EXPECT_THAT(held(std::log(100), percentile(99, 0.95)), AllOf(Gt(1880), Lt(1980)));
  EXPECT_THAT(held(1, [](const auto& samples) { return estimate_mean(samples, 0.95); }),
              AllOf(Gt(1860), Lt(1940)));
}

TEST(Estimate, OfTheMeanIsStudents) {
  const Estimate mean = estimate_mean(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(mean.value, 5);
  EXPECT_NEAR(mean.high - 5, 2.364624 * std::sqrt(32.0 / 7 / 8), 1e-6);  // t of 7 degrees
  EXPECT_DOUBLE_EQ(mean.high - 5, 5 - mean.low);
  EXPECT_EQ(estimate_mean(Samples{2, 4, 4, 4, 5, 5, 7, 9}).high, mean.high);
}

TEST(Estimate, OfDependentSamplesIsWiderByTheirAutocorrelationTime) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> samples{0};
  while (samples.size() < 20'000) samples.push_back(0.5 * samples.back() + normal(random));
  EXPECT_NEAR(autocorrelation_time(samples), 3, 0.3);  // (1 + 0.5) / (1 - 0.5)
  const Estimate plain = estimate_mean(samples, 0.99);
  const Estimate dependent = estimate_dependent_mean(samples, 0.99);
  EXPECT_DOUBLE_EQ(dependent.value, plain.value);
  EXPECT_NEAR(dependent.high - dependent.value, std::sqrt(3) * (plain.high - plain.value), 2e-3);
  EXPECT_EQ(autocorrelation_time(std::vector<double>(9, 4.0)), 1);
  EXPECT_FALSE(estimate_dependent_mean(std::vector<double>{7}).covers);
}

TEST(Estimate, TellsTooFewSamples) {
  const Estimate none = estimate_mean(Samples{});
  EXPECT_FALSE(none.covers || none.count > 0 || none.value != 0);
  EXPECT_FALSE(estimate_percentile(Samples{}, 50).covers);
  const Estimate one = estimate_mean(Samples{7});
  EXPECT_FALSE(one.covers);
  EXPECT_EQ(one.low, 7);
  const Estimate few = estimate_percentile(Samples{3, 1, 2}, 99);
  EXPECT_FALSE(few.covers);
  EXPECT_EQ(few.value, 3);
  EXPECT_EQ(few.high, 3);
}

}  // namespace
}  // namespace rdmabench::inline v1::measure

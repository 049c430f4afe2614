#include "rdmabench/measure/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "random_samples.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::measure {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

Histogram histogram_of(const Samples& samples) {
  Histogram histogram;
  for (const std::uint64_t sample : samples) histogram.record(sample);
  return histogram;
}

bool within_the_stated_error(std::uint64_t value, std::uint64_t truth) {
  const std::uint64_t distance = value < truth ? truth - value : value - truth;
  return static_cast<long double>(distance) <=
         Histogram::kRelativeError * static_cast<long double>(truth);
}

TEST(Histogram, KeepsItsStatedErrorAtEveryMagnitude) {
  std::mt19937_64 random(2);
  Samples values = all_magnitudes(2000, random);
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t near : {-2, -1, 0, 1}) {
      values.push_back((std::uint64_t{1} << bit) + near);
      values.push_back((std::uint64_t{129} << bit) + near);
    }
  }
  for (const std::uint64_t value : values) {
    const Histogram histogram = histogram_of({0, value, kLargest});  // the extremes would be exact
    EXPECT_TRUE(within_the_stated_error(histogram.value_at(1), value)) << value;
  }
}

TEST(Histogram, HasABucketAroundEachValue) {
  std::mt19937_64 random(3);
  const Samples values = all_magnitudes(2000, random);
  const Histogram histogram = histogram_of(values);
  std::uint64_t count = 0;
  std::uint64_t after = 0;
  for (const Histogram::Bucket& bucket : histogram.buckets()) {
    EXPECT_LE(after, bucket.low);
    const auto inside = std::count_if(values.begin(), values.end(), [&](std::uint64_t value) {
      return bucket.low <= value && value <= bucket.high;
    });
    EXPECT_EQ(bucket.count, static_cast<std::uint64_t>(inside)) << bucket.low;
    EXPECT_LE(bucket.high - bucket.low, bucket.low / 128);
    count += bucket.count;
    after = bucket.high + 1;
  }
  EXPECT_EQ(count, values.size());
  EXPECT_TRUE(Histogram().buckets().empty());
  EXPECT_EQ(histogram_of({kLargest}).buckets().at(0).high, kLargest);
}

TEST(Histogram, IsExactBelow256) {
  for (std::uint64_t value = 0; value < 256; ++value) {
    EXPECT_EQ(histogram_of({0, value, kLargest}).value_at(1), value);
  }
}

TEST(Histogram, HasPercentilesWithinItsStatedErrorOfTheSortedSamples) {
  for (auto [shape, samples] : latency_shapes(10000)) {
    const Histogram histogram = histogram_of(samples);
    std::sort(samples.begin(), samples.end());
    for (const double p : {0.001, 1.0, 10.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
      const std::uint64_t truth = samples[nearest_rank(samples.size(), p)];
      EXPECT_TRUE(within_the_stated_error(histogram.percentile(p), truth))
          << shape << " p" << p << ": " << histogram.percentile(p) << " for " << truth;
    }
  }
}

TEST(Histogram, NeverLeavesTheRangeOfItsSamples) {
  const Histogram histogram = histogram_of({1'000'001, 1'000'001, 1'000'002, 1'000'002});
  for (const double p : {1.0, 50.0, 75.0, 100.0}) {
    EXPECT_GE(histogram.percentile(p), 1'000'001U);
    EXPECT_LE(histogram.percentile(p), 1'000'002U);
  }
}

TEST(Histogram, KnowsItsExtremesAndMomentsExactly) {
  for (const auto& [shape, samples] : latency_shapes(3000)) {
    const Histogram histogram = histogram_of(samples);
    EXPECT_EQ(histogram.count(), 3000U);
    EXPECT_EQ(histogram.min(), *std::min_element(samples.begin(), samples.end())) << shape;
    EXPECT_EQ(histogram.max(), *std::max_element(samples.begin(), samples.end())) << shape;
    EXPECT_EQ(histogram.percentile(100), histogram.max()) << shape;
    EXPECT_EQ(histogram.mean(), mean(samples)) << shape;
    EXPECT_EQ(histogram.stddev(), stddev(samples)) << shape;
  }
}

TEST(Histogram, HasAMedianDeviationWithinItsStatedError) {
  for (const auto& [shape, samples] : latency_shapes(9999)) {
    const auto truth = static_cast<double>(median_absolute_deviation(samples));
    const auto bound =
        Histogram::kRelativeError * (2 * static_cast<double>(median(samples)) + truth);
    const auto found = static_cast<double>(histogram_of(samples).median_absolute_deviation());
    EXPECT_NEAR(found, truth, bound) << shape;
  }
  EXPECT_EQ(histogram_of({1, 2, 3, 100, 200}).median_absolute_deviation(), 2U);
}

TEST(Histogram, OfMergedPartsEqualsTheWhole) {
  std::mt19937_64 random(3);
  const Samples whole = all_magnitudes(5000, random);
  Histogram merged = histogram_of(Samples(whole.begin(), whole.begin() + 1234));
  merged.merge(histogram_of(Samples(whole.begin() + 1234, whole.end())));
  merged.merge(Histogram());
  const Histogram expected = histogram_of(whole);
  ASSERT_EQ(merged.count(), expected.count());
  for (std::uint64_t i = 0; i < 5000; ++i) ASSERT_EQ(merged.value_at(i), expected.value_at(i)) << i;
  EXPECT_EQ(merged.mean(), expected.mean());
  EXPECT_EQ(merged.stddev(), expected.stddev());
  EXPECT_EQ(merged.median_absolute_deviation(), expected.median_absolute_deviation());
}

TEST(Histogram, OfNothingIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.min(), 0U);
  EXPECT_EQ(histogram.percentile(50), 0U);
  EXPECT_EQ(histogram.median_absolute_deviation(), 0U);
}

}  // namespace
}  // namespace rdmabench::inline v1::measure

#include "rdmabench/measure/histogram.h"

#include <gtest/gtest.h>

#include <cmath>

#include "random_samples.h"

namespace rdmabench::inline v1::measure {
namespace {

Moments moments_of(const Samples& samples) {
  Moments moments;
  for (const std::uint64_t sample : samples) moments.add(sample);
  return moments;
}

TEST(Moments, AgreeWithTwoPassesOverTheSamples) {
  for (const auto& [shape, samples] : latency_shapes(5000)) {
    if (shape == "all magnitudes") continue;  // squares beyond the stated range
    long double sum = 0;
    for (const auto sample : samples) sum += static_cast<long double>(sample);
    const long double mean = sum / static_cast<long double>(samples.size());
    long double squares = 0;
    for (const auto sample : samples) {
      squares += std::pow(static_cast<long double>(sample) - mean, 2.0L);
    }
    const auto stddev = static_cast<double>(std::sqrt(squares / (5000 - 1)));
    const Moments moments = moments_of(samples);
    EXPECT_DOUBLE_EQ(moments.mean(), static_cast<double>(mean)) << shape;
    EXPECT_NEAR(moments.stddev(), stddev, 1e-12 * stddev) << shape;
  }
}

TEST(Moments, LoseNothingWhereDoublesWouldCancel) {
  const std::uint64_t far = std::uint64_t{1} << 62;  // its square is beyond 2^120
  const Moments moments = moments_of({far + 1, far + 2, far + 3, far + 4});
  EXPECT_DOUBLE_EQ(moments.stddev(), std::sqrt(5.0 / 3.0));
  EXPECT_DOUBLE_EQ(moments.mean(), 0x1p62);
}

TEST(Moments, FindASingleTickInAMillionSamples) {
  for (const std::uint64_t odd : {99'999U, 100'001U}) {
    Samples samples(1'000'000, 100'000);
    samples[500'000] = odd;
    EXPECT_NEAR(moments_of(samples).stddev(), 1e-3, 1e-12);
  }
}

TEST(Moments, OfAConstantDoNotDeviate) {
  EXPECT_EQ(moments_of(Samples(999, 12'345'678'901'234'567U)).stddev(), 0);
}

TEST(Moments, OfTooFewValuesAreZero) {
  EXPECT_EQ(Moments().min(), 0U);
  EXPECT_EQ(Moments().max(), 0U);
  EXPECT_EQ(Moments().mean(), 0);
  EXPECT_EQ(moments_of({7}).stddev(), 0);
  EXPECT_EQ(moments_of({7}).min(), 7U);
}

TEST(Moments, OfMergedPartsEqualTheWhole) {
  std::mt19937_64 random(1);
  const Samples whole = all_magnitudes(1000, random);
  Moments merged = moments_of(Samples(whole.begin(), whole.begin() + 300));
  merged.merge(moments_of(Samples(whole.begin() + 300, whole.end())));
  merged.merge(Moments());
  const Moments expected = moments_of(whole);
  EXPECT_EQ(merged.count(), expected.count());
  EXPECT_EQ(merged.min(), expected.min());
  EXPECT_EQ(merged.max(), expected.max());
  EXPECT_EQ(merged.mean(), expected.mean());
  EXPECT_EQ(merged.stddev(), expected.stddev());
}

}  // namespace
}  // namespace rdmabench::inline v1::measure

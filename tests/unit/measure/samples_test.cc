#include "rdmabench/measure/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "random_samples.h"

namespace rdmabench::inline v1::measure {
namespace {

/// Adds `samples` in epochs of `epoch`.
LatencyRecorder recorded(const Samples& samples, std::size_t exact_limit, std::size_t epoch) {
  LatencyRecorder recorder(exact_limit);
  for (std::size_t at = 0; at < samples.size(); at += epoch) {
    recorder.add(std::span(samples).subspan(at, std::min(epoch, samples.size() - at)));
  }
  return recorder;
}

TEST(LatencyRecorder, AgreesWithTheSortedSamples) {
  for (const auto& [shape, samples] : latency_shapes(20000)) {
    const LatencySummary summary = recorded(samples, 20000, 777).summary(0.5);
    Samples sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const auto half = [&](std::size_t index) { return static_cast<double>(sorted[index]) / 2; };
    EXPECT_EQ(summary.count, 20000U);
    EXPECT_EQ(summary.min_ns, half(0)) << shape;
    EXPECT_EQ(summary.p50_ns, half(9999)) << shape;
    EXPECT_EQ(summary.p90_ns, half(17999)) << shape;
    EXPECT_EQ(summary.p99_ns, half(19799)) << shape;
    EXPECT_EQ(summary.p999_ns, half(19979)) << shape;
    EXPECT_EQ(summary.p9999_ns, half(19997)) << shape;
    EXPECT_EQ(summary.max_ns, half(19999)) << shape;
    EXPECT_EQ(summary.mean_ns, mean(samples) / 2) << shape;
    EXPECT_EQ(summary.stddev_ns, stddev(samples) / 2) << shape;
    EXPECT_EQ(summary.mad_ns, static_cast<double>(median_absolute_deviation(samples)) / 2) << shape;
    EXPECT_EQ(summary.median_low_ns, half(percentile_interval(20000, 50).low)) << shape;
    EXPECT_EQ(summary.median_high_ns, half(percentile_interval(20000, 50).high)) << shape;
    EXPECT_EQ(summary.p99_low_ns, half(percentile_interval(20000, 99).low)) << shape;
    EXPECT_EQ(summary.p99_high_ns, half(percentile_interval(20000, 99).high)) << shape;
    EXPECT_TRUE(std::isinf(summary.p9999_high_ns)) << shape << ": two samples lie beyond it";
    EXPECT_EQ(summary.percentile_error, 0) << shape;
  }
}

TEST(LatencyRecorder, FewSamplesDoNotBoundTheMedian) {
  const LatencySummary five = recorded({1, 2, 3, 4, 5}, 10, 5).summary(1);
  EXPECT_EQ(five.median_low_ns, 0);
  EXPECT_TRUE(std::isinf(five.median_high_ns));
  const LatencySummary six = recorded({1, 2, 3, 4, 5, 6}, 10, 6).summary(1);
  EXPECT_EQ(six.median_low_ns, 1);
  EXPECT_EQ(six.median_high_ns, 6);
}

TEST(LatencyRecorder, LosesNoSampleWhenItTurnsIntoAHistogram) {
  for (const auto& [shape, samples] : latency_shapes(20000)) {
    const LatencySummary exact = recorded(samples, 20000, 777).summary(0.25);
    const LatencySummary bounded = recorded(samples, 19999, 777).summary(0.25);
    EXPECT_EQ(bounded.count, exact.count) << shape;
    EXPECT_EQ(bounded.min_ns, exact.min_ns) << shape;
    EXPECT_EQ(bounded.max_ns, exact.max_ns) << shape;
    EXPECT_EQ(bounded.mean_ns, exact.mean_ns) << shape;
    EXPECT_EQ(bounded.stddev_ns, exact.stddev_ns) << shape;
    EXPECT_EQ(bounded.percentile_error, Histogram::kRelativeError) << shape;
    const double e = bounded.percentile_error;
    EXPECT_NEAR(bounded.p50_ns, exact.p50_ns, e * exact.p50_ns) << shape;
    EXPECT_NEAR(bounded.p90_ns, exact.p90_ns, e * exact.p90_ns) << shape;
    EXPECT_NEAR(bounded.p99_ns, exact.p99_ns, e * exact.p99_ns) << shape;
    EXPECT_NEAR(bounded.p999_ns, exact.p999_ns, e * exact.p999_ns) << shape;
    EXPECT_NEAR(bounded.p9999_ns, exact.p9999_ns, e * exact.p9999_ns) << shape;
    EXPECT_NEAR(bounded.median_low_ns, exact.median_low_ns, e * exact.median_low_ns) << shape;
    EXPECT_NEAR(bounded.median_high_ns, exact.median_high_ns, e * exact.median_high_ns) << shape;
    EXPECT_NEAR(bounded.mad_ns, exact.mad_ns, e * (2 * exact.p50_ns + exact.mad_ns)) << shape;
  }
}

TEST(LatencyRecorder, IsExactUpToItsLimit) {
  const Samples samples(100, 5);
  EXPECT_EQ(recorded(samples, 100, 50).summary(1).percentile_error, 0);
  EXPECT_GT(recorded(samples, 99, 50).summary(1).percentile_error, 0);
  EXPECT_EQ(recorded(samples, 0, 50).count(), 100U);
}

TEST(LatencyRecorder, OfNothingIsAllZero) {
  LatencyRecorder recorder;
  recorder.add({});
  EXPECT_EQ(recorder.count(), 0U);
  EXPECT_EQ(recorder.summary(1).max_ns, 0);
}

TEST(LatencySummary, SaysWhichPercentilesItsCountCarries) {
  const LatencySummary summary = recorded(Samples(1000, 5), 1000, 1000).summary(1);
  EXPECT_TRUE(summary.supports(99));
  EXPECT_FALSE(summary.supports(99.9));
  EXPECT_EQ(summary.p999_ns, 5);
}

}  // namespace
}  // namespace rdmabench::inline v1::measure

// The cases in which perftest's statistics are wrong, as inputs to ours. Source: its
// print_report_lat() (release 26.04) on the same samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "random_samples.h"
#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/histogram.h"

namespace rdmabench::inline v1::measure {
namespace {

LatencySummary summary_of(const Samples& samples_ns) {
  LatencyRecorder recorder;
  recorder.add(samples_ns);
  return recorder.summary(1);
}

/// 997 samples of about 2 us, and outliers of 800, 900 and 1000 us; the mean is 4.7 us.
Samples with_three_outliers() {
  Samples samples(997, 2006);
  std::fill_n(samples.begin(), 18, 2007);
  samples.insert(samples.begin() + 500, {900'000, 1'000'000, 800'000});
  return samples;
}

TEST(WherePerftestIsWrong, DeviationsBelowOneMicrosecondCount) {  // it prints a t_stdev of 0.00
  Samples samples;
  for (int i = 0; i < 500; ++i) samples.insert(samples.end(), {2000 - 227, 2000 + 227});
  EXPECT_NEAR(summary_of(samples).stddev_ns, 227, 0.2);
}

TEST(WherePerftestIsWrong, TheMaximumIsTheLargestSample) {  // it prints a t_max of 900.00
  EXPECT_EQ(summary_of(with_three_outliers()).max_ns, 1e6);
}

TEST(WherePerftestIsWrong, TheMeanIsThatOfAllSamples) {  // it prints a t_avg of 2.81
  EXPECT_DOUBLE_EQ(summary_of(with_three_outliers()).mean_ns, 4700);
}

TEST(WherePerftestIsWrong, TheDeviationIsThatOfAllSamples) {
  EXPECT_NEAR(summary_of(with_three_outliers()).stddev_ns, 49'400, 100);
}

TEST(WherePerftestIsWrong,
     P999OfAThousandSamplesIsNotTheMaximum) {  // there they are always the same
  Samples samples(1000);
  std::iota(samples.begin(), samples.end(), 1);
  const LatencySummary summary = summary_of(samples);
  EXPECT_EQ(summary.p999_ns, 999);
  EXPECT_EQ(summary.max_ns, 1000);
  EXPECT_FALSE(summary.supports(99.9));  // and the report is told that one sample decides it
}

TEST(WherePerftestIsWrong, ALongRunHasPercentilesToo) {  // with -D it keeps an average only
  LatencyRecorder recorder(1000);
  Samples epoch(1000);
  std::iota(epoch.begin(), epoch.end(), 100'001);
  for (int i = 0; i < 50; ++i) recorder.add(epoch);
  const LatencySummary summary = recorder.summary(1);
  EXPECT_EQ(summary.count, 50'000U);
  EXPECT_EQ(summary.min_ns, 100'001);
  EXPECT_EQ(summary.max_ns, 101'000);
  EXPECT_NEAR(summary.p50_ns, 100'500, 100'500 * summary.percentile_error);
  EXPECT_NEAR(summary.p99_ns, 100'990, 100'990 * summary.percentile_error);
}

TEST(WherePerftestIsWrong,
     AGapBetweenSamplesIsInNone) {  // an instant read with a gap of 50 us: 50.04
  Samples samples;
  for (int i = 0; i < 20; ++i) {
    const Ticks pause = RawClock::stamp();
    while (RawClock::stamp() - pause < 50'000) {
    }
    const Ticks begin = RawClock::stamp();
    samples.push_back(RawClock::stamp() - begin);
  }
  EXPECT_LT(summary_of(samples).p50_ns, 25'000);
}

}  // namespace
}  // namespace rdmabench::inline v1::measure

// Robust statistics, and the summary of a latency run.
#pragma once

#include <cstdint>
#include <span>

#include "rdmabench/features.h"

namespace rdmabench::inline v1::measure {

/// The index (from 0) of the nearest-rank percentile among `count` sorted samples: ceil(p/100 *
/// count) - 1, computed in integers so that p99.9 of 1000 is index 998 and not 999. 0 < p <= 100,
/// used with six decimal places. 0 if `count` is 0.
std::uint64_t nearest_rank(std::uint64_t count, double p) noexcept;

/// Whether at least 10 of `count` samples lie beyond the percentile. With fewer a report must leave
/// it out or mark it.
bool percentile_supported(std::uint64_t count, double p) noexcept;

/// Indices (from 0, both included) among sorted samples.
struct RankInterval {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool covers = false;  ///< false: there are too few samples for the confidence that was asked for
};

/// The order statistics that enclose the percentile p of the population with at least `confidence`,
/// the rest divided equally among both sides. Valid for every distribution of independent samples;
/// samples of one run are only roughly independent. Where there are too few samples, a side that
/// they cannot bound is the first or the last sample: at 95 % the median needs 6, p99 needs 368.
/// Throws Error(usage) unless 0 < p < 100 and 0 < confidence < 1. Source: Conover, Practical
/// Nonparametric Statistics, 3.2, by the exact binomial distribution.
RankInterval percentile_interval(std::uint64_t count, double p, double confidence = 0.95);

// These functions accept samples in any order, and sort a copy where necessary. Without samples
// they are 0; with a NaN among two or more they are NaN, and no interval covers. Percentiles and
// medians are by nearest rank, so they are always one of the samples.

double percentile(std::span<const double> samples, double p);
std::uint64_t percentile(std::span<const std::uint64_t> samples, double p);

double median(std::span<const double> samples);
std::uint64_t median(std::span<const std::uint64_t> samples);

/// The median distance from the median.
double median_absolute_deviation(std::span<const double> samples);
std::uint64_t median_absolute_deviation(std::span<const std::uint64_t> samples);

double mean(std::span<const double> samples);
double mean(std::span<const std::uint64_t> samples);

/// Of the sample: divided by count - 1; 0 for fewer than two.
double stddev(std::span<const double> samples);
double stddev(std::span<const std::uint64_t> samples);

/// A statistic of samples with its confidence interval.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  bool covers = false;      ///< false: too few samples for the confidence; see the functions
  std::uint64_t count = 0;  ///< samples
};

/// The nearest-rank percentile p with the interval of percentile_interval(), which also says what
/// it throws. The median is p = 50.
Estimate estimate_percentile(std::span<const double> samples, double p, double confidence = 0.95);
Estimate estimate_percentile(std::span<const std::uint64_t> samples, double p,
                             double confidence = 0.95);

/// The mean with its interval by Student's t, for independent samples of a distribution with a
/// variance; with few samples of a skewed one it covers less often than asked for. Below two
/// samples it does not cover, and its ends are the mean. Throws Error(usage) unless 0 < confidence
/// < 1.
Estimate estimate_mean(std::span<const double> samples, double confidence = 0.95);
Estimate estimate_mean(std::span<const std::uint64_t> samples, double confidence = 0.95);

/// The integrated autocorrelation time of values in the order in which they came: so many of them
/// tell as much as one independent value. 1 where they are independent or too few to tell. Source:
/// Geyer, Practical Markov Chain Monte Carlo, 1992, by the initial positive sequence.
double autocorrelation_time(std::span<const double> in_order);

// Of samples that may depend on those before: they count as so many fewer as autocorrelation_time()
// says, for the median that of being above it. With 99 % and 22 samples or more both cover at least
// 95 % where neighbours correlate by up to 0.5, also where they decided when to stop
// (docs/statistics.md).

/// As estimate_mean().
Estimate estimate_dependent_mean(std::span<const double> in_order, double confidence = 0.99);
/// As estimate_percentile(). Where they are too few, the ends are the first and the last sample.
Estimate estimate_dependent_median(std::span<const double> in_order, double confidence = 0.99);

/// A latency run in nanoseconds, over all of its samples.
struct LatencySummary {
  std::uint64_t count = 0;
  double min_ns = 0;
  double p50_ns = 0;  ///< percentiles are set even if supports() is false
  double p90_ns = 0;
  double p99_ns = 0;
  double p999_ns = 0;
  double p9999_ns = 0;
  double max_ns = 0;
  double mean_ns = 0;
  double stddev_ns = 0;
  double mad_ns = 0;         ///< median absolute deviation
  double median_low_ns = 0;  ///< the median's 95 % interval, see percentile_interval(); of a run of
                             ///< six epochs or more by estimate_dependent_median()
  double median_high_ns = 0;
  /// Likewise of the higher percentiles. Of each, an end that the samples do not bound is 0 or
  /// infinite.
  double p90_low_ns = 0;
  double p90_high_ns = 0;
  double p99_low_ns = 0;
  double p99_high_ns = 0;
  double p999_low_ns = 0;
  double p999_high_ns = 0;
  double p9999_low_ns = 0;
  double p9999_high_ns = 0;
  double percentile_error = 0;  ///< relative bound: 0 if exact, else Histogram::kRelativeError

  bool supports(double p) const noexcept { return percentile_supported(count, p); }
};

}  // namespace rdmabench::inline v1::measure

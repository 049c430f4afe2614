// When a row's median is known well enough to end the row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rdmabench::collective {

/// Checks whether the interval of the samples' median is narrow enough. Checking often and stopping
/// at the first narrow 95 % interval would miss the median in more than 5 % of rows. So the checks
/// come at fixed numbers of samples, each twice the one before, with intervals of 99.75 %: of at
/// most 20 checks all intervals hold the median in at least 95 % of rows, and so does the last one.
/// Assumes independent samples. Source: Bonferroni's inequality; the interval is
/// measure::percentile_interval(). A value; thread rule: one thread.
class MedianWatch {
 public:
  /// The fewest samples with an interval at that level.
  static constexpr std::uint64_t kFewest = 10;
  /// The confidence level of each check's interval.
  static constexpr double kLevel = 0.9975;

  /// The first check is at this number of samples, at least kFewest.
  explicit MedianWatch(std::uint64_t first_look) noexcept
      : next_look_(std::max(first_look, kFewest)) {}

  /// The number of samples at the next check.
  std::uint64_t next_look() const noexcept { return next_look_; }

  /// Checks; `samples` are next_look() values, in any order. True if half of the interval is within
  /// `precision` of the median.
  bool is_known(std::vector<double> samples, double precision);

  /// The interval of the last check.
  double low() const noexcept { return low_; }
  double high() const noexcept { return high_; }

 private:
  std::uint64_t next_look_;
  double low_ = 0;
  double high_ = 0;
};

}  // namespace rdmabench::collective

// Evaluates the stamps of all ranks: times, the late rank, bandwidth, and when enough is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {

/// A rank's clock relative to rank 0's, from before a row to after it.
struct ClockLine {
  /// How much the difference of two clocks' rates may change between two comparisons, ns per ns:
  /// RFC 5905's PHI. NTP does not slew CLOCK_MONOTONIC_RAW (clock_gettime(2)); a constant
  /// difference of the rates is measured by the comparisons.
  static constexpr double kWander = 15e-6;

  std::vector<ClockOffset> points{};  ///< one or more, in order of time

  /// Converts a rank's stamp to rank 0's time, in ns after `epoch_ns`: exact at any time since
  /// boot, if the two are close. Between two comparisons the offset is interpolated linearly;
  /// before the first and after the last it is constant.
  double since(std::uint64_t epoch_ns, std::uint64_t stamp_ns) const noexcept;

  /// Error bound of since() for stamps between the first point and the last: that of the
  /// comparisons, plus kWander times the time to the nearest one.
  double error_ns() const noexcept;
};

/// `samples[rank]` have equal lengths, `clocks` one entry for each rank. The late rank is found by
/// the entry times, never by durations: the last rank waits least. Ranks are numbered as in
/// `samples`.
Numbers judge(const std::vector<std::vector<Stamps>>& samples, const std::vector<ClockLine>& clocks,
              std::uint32_t batch);

/// How long a comparison of clocks stays valid: for a second after the comparison ended, or for ten
/// times as long as it took if that is more: comparing a thousand ranks one by one takes a second,
/// and every epoch would need a comparison. ClockLine::error_ns() grows with the age of a
/// comparison. Nanoseconds of one clock. Thread rule: one thread.
class ClockHold {
 public:
  static constexpr std::uint64_t kLeastNs = 1'000'000'000;
  static constexpr std::uint64_t kTimesItsOwn = 10;

  void compared(std::uint64_t began_ns, std::uint64_t ended_ns) noexcept {
    ended_ns_ = ended_ns;
    holds_ns_ = std::max(kLeastNs, kTimesItsOwn * (ended_ns - began_ns));
  }

  /// False before the first comparison.
  bool holds(std::uint64_t now_ns) const noexcept {
    return holds_ns_ > 0 && now_ns - ended_ns_ <= holds_ns_;
  }

 private:
  std::uint64_t ended_ns_ = 0;
  std::uint64_t holds_ns_ = 0;
};

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

}  // namespace rdmabench::inline v1::collective

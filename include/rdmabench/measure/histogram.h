// The samples of a latency run: all of them, and beyond a limit a histogram of any number of values
// in 58 KiB, with percentiles of a stated error.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "rdmabench/features.h"
#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::measure {

/// An extension of 64-bit GCC and clang.
__extension__ using Uint128 = unsigned __int128;

/// Count, extremes, mean and standard deviation. It sums integers, so that there is no rounding or
/// cancellation, the order of values does not matter, and merged parts are exactly equal to the
/// whole. Thread rule: one thread adds at a time.
class Moments {
 public:
  void add(std::uint64_t value) noexcept {
    ++count_;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    sum_ += value;
    squares_ += static_cast<Uint128>(value) * value;
  }

  void merge(const Moments& other) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  /// Extremes and mean are 0 without values.
  std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const noexcept { return max_; }
  double mean() const noexcept;
  /// Of the sample: divided by count - 1; 0 for fewer than two values. Correct while the sum of the
  /// squared deviations is below 2^128: for example 10^12 values, each 10^13 from the mean.
  double stddev() const noexcept;

 private:
  std::uint64_t count_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
  Uint128 sum_ = 0;
  Uint128 squares_ = 0;  // modulo 2^128, which stddev() allows for
};

/// A log-linear histogram over all 64-bit values, with 128 buckets of equal width per octave.
/// Values below 256 have one bucket each. Count, minimum, maximum, mean and deviation are exact,
/// from Moments. Source: Tene, HdrHistogram (the layout). Thread rule: one thread records at a
/// time; merge() combines histograms of several threads.
class Histogram {
 public:
  /// Largest relative error of a percentile: half the width of a bucket by its smallest value.
  static constexpr double kRelativeError = 1.0 / 256;

  Histogram() : counts_(kBuckets) {}

  void record(std::uint64_t value) noexcept {
    ++counts_[bucket_of(value)];
    moments_.add(value);
  }

  /// Adds all values of the other histogram.
  void merge(const Histogram& other) noexcept;

  std::uint64_t count() const noexcept { return moments_.count(); }
  std::uint64_t min() const noexcept { return moments_.min(); }
  std::uint64_t max() const noexcept { return moments_.max(); }
  double mean() const noexcept { return moments_.mean(); }
  double stddev() const noexcept { return moments_.stddev(); }
  const Moments& moments() const noexcept { return moments_; }

  /// The value at `index` (from 0) of the sorted values, within kRelativeError. The first and the
  /// last are exact. An index past the end gives the last; 0 if there are no values.
  std::uint64_t value_at(std::uint64_t index) const noexcept;

  /// The nearest-rank percentile, 0 < p <= 100, as value_at() gives it.
  std::uint64_t percentile(double p) const noexcept;

  /// Values from `low` to `high`, both included.
  struct Bucket {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint64_t count = 0;
  };

  /// Those that are not empty, in ascending order.
  std::vector<Bucket> buckets() const;

  /// The median distance from the median, with an error of at most kRelativeError * (2 * median +
  /// result). It is 0 for a spread within the median's bucket.
  std::uint64_t median_absolute_deviation() const;

 private:
  static constexpr unsigned kSubBits = 7;
  static constexpr std::size_t kSubBuckets = std::size_t{1} << kSubBits;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSubBuckets;

  /// Number of low bits of `value` that its bucket ignores.
  static unsigned shift_of(std::uint64_t value) noexcept {
    return static_cast<unsigned>(std::bit_width(value | kSubBuckets)) - kSubBits - 1;
  }
  static std::size_t bucket_of(std::uint64_t value) noexcept {
    const unsigned shift = shift_of(value);
    return shift * kSubBuckets + static_cast<std::size_t>(value >> shift);
  }
  static std::uint64_t first_of(std::size_t bucket) noexcept;
  static std::uint64_t middle_of(std::size_t bucket) noexcept;

  std::vector<std::uint64_t> counts_;
  Moments moments_;
};

/// Stores every sample up to a limit, for exact percentiles. Above the limit it moves all samples
/// into a Histogram, so that memory is bounded and no sample is dropped. Call it between epochs,
/// because it may allocate. Thread rule: one thread at a time.
class LatencyRecorder {
 public:
  /// Up to `exact_limit` samples of 8 bytes are stored; 0: a histogram from the start.
  explicit LatencyRecorder(std::size_t exact_limit = std::size_t{1} << 22) noexcept
      : exact_limit_(exact_limit) {}

  void add(std::span<const Ticks> intervals);

  std::uint64_t count() const noexcept {
    return histogram_ ? histogram_->count() : static_cast<std::uint64_t>(exact_.size());
  }

  /// Summary of all samples times `ns_per_tick`; pass half of it to report half round trips. All 0
  /// if there are no samples. It sorts a copy, which takes up to 0.5 s for 4 million samples.
  LatencySummary summary(double ns_per_tick) const;

 private:
  std::size_t exact_limit_;
  std::vector<Ticks> exact_;  // at most exact_limit_, and none once there is a histogram
  std::optional<Histogram> histogram_;
};

}  // namespace rdmabench::inline v1::measure

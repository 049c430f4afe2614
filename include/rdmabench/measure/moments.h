// Count, extremes, mean and standard deviation of whole numbers, without keeping them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rdmabench::measure {

/// Not ISO C++, but of every 64-bit GCC and clang.
__extension__ using Uint128 = unsigned __int128;

/// Sums in whole numbers, so that nothing is lost to rounding or cancellation, the order of the
/// values does not matter, and merged parts equal the whole to the last bit. Every value counts.
/// Thread rule: one thread adds at a time.
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
  /// The extremes and the mean of no values are 0.
  std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const noexcept { return max_; }
  double mean() const noexcept;
  /// Of the sample: divided by count - 1; 0 for fewer than two values. Right as long as the squared
  /// deviations sum to less than 2^128: 10^12 values may each lie 10^13 from their mean.
  double stddev() const noexcept;

 private:
  std::uint64_t count_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
  Uint128 sum_ = 0;
  Uint128 squares_ = 0;  // modulo 2^128, which stddev() allows for
};

}  // namespace rdmabench::measure

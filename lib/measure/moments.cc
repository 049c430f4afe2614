#include "rdmabench/measure/histogram.h"

#include <cmath>

namespace rdmabench::measure {

void Moments::merge(const Moments& other) noexcept {
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  squares_ += other.squares_;
}

double Moments::mean() const noexcept {
  if (count_ == 0) return 0;
  return static_cast<double>(static_cast<long double>(sum_) / static_cast<long double>(count_));
}

double Moments::stddev() const noexcept {
  if (count_ < 2) return 0;
  // With the mean cut to a whole number, sum = count * whole + rest, and the squared deviations
  // from `whole` sum to squares - whole * (sum + rest). That is exact modulo 2^128, so the large
  // parts that the terms share vanish without a trace; only the fraction rest / count is left to
  // floating point.
  const Uint128 whole = sum_ / count_;
  const Uint128 rest = sum_ % count_;
  const auto deviations = static_cast<long double>(squares_ - whole * (sum_ + rest));
  const auto n = static_cast<long double>(count_);
  const auto r = static_cast<long double>(rest);
  return static_cast<double>(std::sqrt(std::max(0.0L, (deviations - r * r / n) / (n - 1))));
}

}  // namespace rdmabench::measure

#include "rdmabench/measure/histogram.h"

#include <cmath>
#include <utility>

#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::measure {

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

std::uint64_t Histogram::first_of(std::size_t bucket) noexcept {
  if (bucket < 2 * kSubBuckets) return bucket;
  const std::size_t shift = bucket / kSubBuckets - 1;
  return static_cast<std::uint64_t>(bucket - shift * kSubBuckets) << shift;
}

std::uint64_t Histogram::middle_of(std::size_t bucket) noexcept {
  // The bucket after the last one begins at 2^64, which is 0 here: the difference is right.
  return first_of(bucket) + (first_of(bucket + 1) - first_of(bucket) - 1) / 2;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> filled;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (counts_[i] > 0) filled.push_back({first_of(i), first_of(i + 1) - 1, counts_[i]});
  }
  return filled;
}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  moments_.merge(other.moments_);
}

std::uint64_t Histogram::value_at(std::uint64_t index) const noexcept {
  if (index == 0) return min();
  if (index + 1 >= count()) return max();
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  while ((seen += counts_[bucket]) <= index) ++bucket;
  return std::clamp(middle_of(bucket), min(), max());
}

std::uint64_t Histogram::percentile(double p) const noexcept {
  return value_at(nearest_rank(count(), p));
}

std::uint64_t Histogram::median_absolute_deviation() const {
  const std::uint64_t median = percentile(50);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> distances;  // and how many values lie there
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (counts_[bucket] == 0) continue;
    const std::uint64_t value = std::clamp(middle_of(bucket), min(), max());
    distances.emplace_back(value < median ? median - value : value - median, counts_[bucket]);
  }
  std::sort(distances.begin(), distances.end());
  const std::uint64_t index = nearest_rank(count(), 50);
  std::uint64_t seen = 0;
  for (const auto& [distance, values] : distances) {
    seen += values;
    if (seen > index) return distance;
  }
  return 0;
}

}  // namespace rdmabench::inline v1::measure

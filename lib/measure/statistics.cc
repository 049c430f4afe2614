#include "rdmabench/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "rdmabench/measure/histogram.h"

namespace rdmabench::measure {
namespace {

constexpr std::uint64_t kWhole = 100'000'000;  // 100 % in millionths of a per cent

std::uint64_t millionths(double p) noexcept {
  if (!(p > 0)) return 0;
  return static_cast<std::uint64_t>(std::llround(std::min(p, 100.0) * 1e6));
}

template <class T>
T nth(std::vector<T>& samples, double p) {
  if (samples.empty()) return 0;
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(nearest_rank(samples.size(), p));
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

template <class T>
T nth_of_copy(std::span<const T> samples, double p) {
  std::vector<T> copy(samples.begin(), samples.end());
  return nth(copy, p);
}

template <class T>
T median_distance(std::span<const T> samples) {
  std::vector<T> distances(samples.begin(), samples.end());
  const T center = nth(distances, 50);
  for (T& value : distances) value = value < center ? center - value : value - center;
  return nth(distances, 50);
}

Moments moments_of(std::span<const std::uint64_t> samples) noexcept {
  Moments moments;
  for (const std::uint64_t value : samples) moments.add(value);
  return moments;
}

}  // namespace

std::uint64_t nearest_rank(std::uint64_t count, double p) noexcept {
  const Uint128 rank = (static_cast<Uint128>(count) * millionths(p) + kWhole - 1) / kWhole;
  return rank == 0 ? 0 : static_cast<std::uint64_t>(rank - 1);
}

bool percentile_supported(std::uint64_t count, double p) noexcept {
  constexpr unsigned kBeyond = 10;
  return static_cast<Uint128>(count) * (kWhole - millionths(p)) >= kBeyond * Uint128{kWhole};
}

RankInterval median_interval(std::uint64_t count) noexcept {
  if (count == 0) return {};
  // The number of samples below the median is binomial(count, 1/2). Rank r (from 1) lies above the
  // median with probability P(B <= r - 1), about Phi((r - 1/2 - n/2) / (sqrt(n)/2)): at most 2.5 %
  // is asked.
  const auto n = static_cast<double>(count);
  const double rank = std::floor(n / 2 + 0.5 - 1.96 * std::sqrt(n) / 2);
  const std::uint64_t low = rank < 1 ? 0 : static_cast<std::uint64_t>(rank) - 1;
  return {low, count - 1 - low};
}

double percentile(std::span<const double> samples, double p) {
  return nth_of_copy(samples, p);
}
std::uint64_t percentile(std::span<const std::uint64_t> samples, double p) {
  return nth_of_copy(samples, p);
}

double median(std::span<const double> samples) {
  return nth_of_copy(samples, 50);
}
std::uint64_t median(std::span<const std::uint64_t> samples) {
  return nth_of_copy(samples, 50);
}

double median_absolute_deviation(std::span<const double> samples) {
  return median_distance(samples);
}
std::uint64_t median_absolute_deviation(std::span<const std::uint64_t> samples) {
  return median_distance(samples);
}

double mean(std::span<const double> samples) {
  if (samples.empty()) return 0;
  long double sum = 0;
  for (const double value : samples) sum += value;
  return static_cast<double>(sum / static_cast<long double>(samples.size()));
}
double mean(std::span<const std::uint64_t> samples) {
  return moments_of(samples).mean();
}

double stddev(std::span<const double> samples) {
  if (samples.size() < 2) return 0;
  const double center = mean(samples);  // first, so that the squares are of small numbers
  long double squares = 0;
  for (const double value : samples) {
    const auto distance = static_cast<long double>(value) - center;
    squares += distance * distance;
  }
  return static_cast<double>(std::sqrt(squares / static_cast<long double>(samples.size() - 1)));
}
double stddev(std::span<const std::uint64_t> samples) {
  return moments_of(samples).stddev();
}

}  // namespace rdmabench::measure

#include "rdmabench/measure/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "measure/distributions.h"
#include "measure/ranks.h"
#include "rdmabench/base/error.h"
#include "rdmabench/measure/histogram.h"

namespace rdmabench::inline v1::measure {
namespace {

constexpr std::uint64_t kWhole = 100'000'000;  // 100 % in millionths of a per cent

std::uint64_t millionths(double p) noexcept {
  if (!(p > 0)) return 0;
  return static_cast<std::uint64_t>(std::llround(std::min(p, 100.0) * 1e6));
}

/// NaN has no place in an order, so that nothing that sorts may see one.
template <class T>
bool has_nan(std::span<const T> samples) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::any_of(samples.begin(), samples.end(), [](T one) { return std::isnan(one); });
  }
  return false;
}

template <class T>
Estimate not_a_number(std::span<const T> samples) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return {kNan, kNan, kNan, false, samples.size()};
}

template <class T>
T nth(std::vector<T>& samples, double p) {
  if (samples.empty()) return 0;
  if (has_nan(std::span<const T>(samples))) return std::numeric_limits<T>::quiet_NaN();
  return at_rank(samples, nearest_rank(samples.size(), p));
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

void check(double confidence) {
  if (confidence > 0 && confidence < 1) return;
  throw Error(Fault::usage, fmt::format("invalid confidence {}", confidence),
              "It lies between 0 and 1, such as 0.95.");
}

template <class T>
Estimate percentile_of(std::span<const T> samples, double p, double confidence) {
  const RankInterval ranks = percentile_interval(samples.size(), p, confidence);
  if (samples.empty()) return {};
  if (has_nan(samples)) return not_a_number(samples);
  std::vector<T> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](std::uint64_t index) { return static_cast<double>(sorted[index]); };
  return {at(nearest_rank(sorted.size(), p)), at(ranks.low), at(ranks.high), ranks.covers,
          sorted.size()};
}

template <class T>
Estimate mean_of(std::span<const T> samples, double confidence) {
  check(confidence);
  if (has_nan(samples)) return not_a_number(samples);
  const double center = mean(samples);
  const auto count = static_cast<double>(samples.size());
  if (samples.size() < 2) return {center, center, center, false, samples.size()};
  const double half =
      t_quantile((1 + confidence) / 2, count - 1) * stddev(samples) / std::sqrt(count);
  return {center, center - half, center + half, true, samples.size()};
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

RankInterval percentile_interval(std::uint64_t count, double p, double confidence) {
  if (!(p > 0 && p < 100)) {
    throw Error(Fault::usage, fmt::format("the interval of percentile {}", p),
                "Percentiles lie between 0 and 100.");
  }
  check(confidence);
  if (count == 0) return {};
  // The number B of samples below the percentile is binomial. Index i lies above it when at most i
  // samples lie below: P(B <= i). The upper end is the same, counted from the other side.
  const double tail = (1 - confidence) / 2;
  const auto low = binomial_rank(count, p / 100, tail);
  const auto high = binomial_rank(count, 1 - p / 100, tail);
  return {low.value_or(0), count - 1 - high.value_or(0), low && high};
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

Estimate estimate_percentile(std::span<const double> samples, double p, double confidence) {
  return percentile_of(samples, p, confidence);
}
Estimate estimate_percentile(std::span<const std::uint64_t> samples, double p, double confidence) {
  return percentile_of(samples, p, confidence);
}

Estimate estimate_mean(std::span<const double> samples, double confidence) {
  return mean_of(samples, confidence);
}
Estimate estimate_mean(std::span<const std::uint64_t> samples, double confidence) {
  return mean_of(samples, confidence);
}

double autocorrelation_time(std::span<const double> in_order) {
  const std::size_t count = in_order.size();
  const double center = mean(in_order);
  const auto covariance = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = lag; i < count; ++i) {
      sum += (in_order[i] - center) * (in_order[i - lag] - center);
    }
    return sum;
  };
  const double variance = covariance(0);
  if (!(variance > 0)) return 1;
  double sum = -variance;
  for (std::size_t lag = 0; lag + 1 < count; lag += 2) {
    const double pair = covariance(lag) + covariance(lag + 1);
    if (pair <= 0) break;
    sum += 2 * pair;
  }
  return std::max(1.0, sum / variance);
}

Estimate estimate_dependent_mean(std::span<const double> in_order, double confidence) {
  check(confidence);
  if (has_nan(in_order)) return not_a_number(in_order);
  const auto count = static_cast<double>(in_order.size());
  const double value = mean(in_order);
  if (in_order.size() < 2) return {value, value, value, false, in_order.size()};
  const double time = std::min(autocorrelation_time(in_order), count / 2);
  const double independent = count / time;
  const double half =
      t_quantile((1 + confidence) / 2, independent - 1) * stddev(in_order) / std::sqrt(independent);
  return {value, value - half, value + half, true, in_order.size()};
}

Estimate estimate_dependent_median(std::span<const double> in_order, double confidence) {
  const RankInterval alone = percentile_interval(in_order.size(), 50, confidence);
  if (in_order.empty()) return {};
  if (has_nan(in_order)) return not_a_number(in_order);
  std::vector<double> sorted(in_order.begin(), in_order.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = nearest_rank(sorted.size(), 50);
  std::vector<double> above;
  for (const double value : in_order) above.push_back(value > sorted[middle] ? 1 : 0);
  const double wider = std::sqrt(autocorrelation_time(above));
  const auto ranks =
      static_cast<std::size_t>(std::ceil(static_cast<double>(middle - alone.low) * wider));
  const bool covers = alone.covers && ranks <= middle;
  return {sorted[middle], sorted[middle - std::min(ranks, middle)],
          sorted[std::min(sorted.size() - 1 - middle, ranks + 1) + middle], covers, sorted.size()};
}

}  // namespace rdmabench::inline v1::measure

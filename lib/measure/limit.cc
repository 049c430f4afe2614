#include "measure/limit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "measure/distributions.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::measure {
namespace {

/// Without noise any difference is proved.
double in_errors_of(double difference, double error) {
  if (error > 0) return difference / error;
  return difference == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), difference);
}

double share_of(double amount, std::size_t count) {
  return count > 0 ? amount / static_cast<double>(count) : 0;
}

}  // namespace

double Distance::chance_below() const {
  return t_below(in_errors_of(difference, error), degrees);
}

double Distance::chance_above() const {
  return t_below(in_errors_of(-difference, error), degrees);
}

double Distance::reach() const {
  return error > 0 ? t_quantile(1 - kFalse, degrees) * error : 0;
}

Distance distance(const LaunchLogs& measured, double limit, const LaunchLogs& baseline,
                  double usual) {
  const std::size_t n = measured.logs.size();
  const std::size_t m = baseline.logs.size();
  const double v = std::pow(stddev(measured.logs), 2);
  const double w = std::pow(stddev(baseline.logs), 2);
  Distance found{.difference = mean(measured.logs) - limit,
                 .deviation = std::sqrt(std::max(v, w)),
                 .launches = n,
                 .two_samples = m > 0};
  double variance = share_of(v, n) + share_of(w, m);
  found.degrees = static_cast<double>(m > 0 ? std::min(n, m) : n) - 1;
  if (n < kLaunchesToJudge || (m > 0 && m < kLaunchesToJudge)) {
    // Those of one side do not say how the other side's vary.
    found.degrees = static_cast<double>(v > w ? n : m) - 1;
    std::size_t counted = n;
    if (found.deviation <= usual) {
      found.deviation = usual;
      found.degrees = kUsualDegrees;
      // Of a few that agree by chance, or because they share a moment, the mean is no surer.
      if (n < kLaunchesToJudge) counted = 1;
    }
    const double one = std::pow(found.deviation, 2);
    variance = share_of(one + std::pow(measured.within, 2), counted) +
               share_of(one + std::pow(baseline.within, 2), m);
    found.deviation = std::sqrt(one + std::pow(measured.within, 2));
  }
  found.error = std::isinf(measured.within) ? measured.within : std::sqrt(variance);
  return found;
}

std::uint32_t launches_to_decide(const Distance& distance, double chance) {
  constexpr double kPower = 0.9;
  constexpr double kNearest = 1e-3;  // nearer to the limit nobody would measure
  constexpr std::uint32_t kMost = 1 << 20;
  const double apart = std::max(std::abs(distance.difference), kNearest);
  const double sides = distance.two_samples ? 2 : 1;
  const auto enough = [&](std::uint32_t launches) {
    const double degrees = launches - 1.0;
    return (t_quantile(1 - chance, degrees) + t_quantile(kPower, degrees)) * distance.deviation *
               std::sqrt(sides / launches) <=
           apart;
  };
  const auto least = static_cast<std::uint32_t>(std::max(kLaunchesToJudge, distance.launches + 1));
  std::uint32_t high = least;
  while (high < kMost && !enough(high)) high *= 2;
  std::uint32_t low = high == least ? least : high / 2;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (enough(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t x, std::size_t y) { return p_values[x] < p_values[y]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double scaled = p_values[order[i]] * static_cast<double>(order.size() - i);
    largest = std::max(largest, std::min(1.0, scaled));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

}  // namespace rdmabench::inline v1::measure

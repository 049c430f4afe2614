#include "rdmabench/analysis/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "measure/distributions.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::analysis {
namespace {

int sign(double value) {
  return value > 0 ? 1 : value < 0 ? -1 : 0;
}

/// Sums over groups of equal values, for the variance of Kendall's statistic.
struct Ties {
  double full = 0;     ///< t(t-1)(2t+5)
  double triples = 0;  ///< t(t-1)(t-2)
  double pairs = 0;    ///< t(t-1)
};

template <class Member>
Ties count_ties(std::span<const Timed> side, Member member) {
  std::map<double, int> groups;
  for (const Timed& one : side) ++groups[one.*member];
  Ties ties;
  for (const auto& [value, count] : groups) {
    const double t = count;
    ties.full += t * (t - 1) * (2 * t + 5);
    ties.triples += t * (t - 1) * (t - 2);
    ties.pairs += t * (t - 1);
  }
  return ties;
}

/// Source: Kendall, Rank Correlation Methods, chapter 4.
double kendall_variance(std::span<const Timed> side) {
  const auto n = static_cast<double>(side.size());
  const Ties time = count_ties(side, &Timed::time_s);
  const Ties value = count_ties(side, &Timed::value);
  double variance = (n * (n - 1) * (2 * n + 5) - time.full - value.full) / 18;
  if (n > 2) variance += time.triples * value.triples / (9 * n * (n - 1) * (n - 2));
  if (n > 1) variance += time.pairs * value.pairs / (2 * n * (n - 1));
  return variance;
}

/// How a launch of a side is like the next one: the first autocorrelation of both sides together,
/// whose expectation is -1 / n of each without any. Source: Box, Jenkins and Reinsel, Time Series
/// Analysis, 2.1.
void find_alike(std::span<const Timed> a, std::span<const Timed> b, Drift& drift) {
  double product = 0;
  double squares = 0;
  double count = 0;
  double sides = 0;
  for (const std::span<const Timed> side : {a, b}) {
    if (side.size() < 3) continue;
    std::vector<Timed> sorted(side.begin(), side.end());
    std::ranges::stable_sort(sorted, {}, &Timed::time_s);
    std::vector<double> values;
    for (const Timed& one : sorted) values.push_back(one.value);
    const double mean = measure::mean(values);
    const auto [low, high] = std::ranges::minmax(values);
    drift.spread = std::max(drift.spread, high - low);
    for (std::size_t i = 0; i < values.size(); ++i) {
      squares += (values[i] - mean) * (values[i] - mean);
      if (i > 0) product += (values[i] - mean) * (values[i - 1] - mean);
    }
    count += static_cast<double>(values.size());
    ++sides;
  }
  if (squares <= 0) return;
  drift.alike = product / squares;
  drift.alike_p = measure::normal_below(-(drift.alike + sides / count) * std::sqrt(count));
}

}  // namespace

Drift find_drift(std::span<const Timed> a, std::span<const Timed> b) {
  double statistic = 0;
  double variance = 0;
  std::vector<double> slopes;
  double longest_s = 0;
  for (const std::span<const Timed> side : {a, b}) {
    double first = HUGE_VAL;
    double last = -HUGE_VAL;
    for (std::size_t i = 0; i < side.size(); ++i) {
      first = std::min(first, side[i].time_s);
      last = std::max(last, side[i].time_s);
      for (std::size_t j = i + 1; j < side.size(); ++j) {
        const double time = side[j].time_s - side[i].time_s;
        const double value = side[j].value - side[i].value;
        statistic += sign(time) * sign(value);
        if (time != 0) slopes.push_back(value / time);
      }
    }
    if (!side.empty()) longest_s = std::max(longest_s, last - first);
    if (side.size() > 1) variance += kendall_variance(side);
  }
  Drift drift;
  if (variance <= 0 || slopes.empty()) return drift;
  const double beyond_chance = std::max(0.0, std::abs(statistic) - 1);  // continuity correction
  drift.p_value = 2 * measure::normal_below(-beyond_chance / std::sqrt(variance));
  drift.change = measure::median(std::span<const double>(slopes)) * longest_s;
  find_alike(a, b, drift);
  return drift;
}

LaunchSequence find_order(std::span<const double> a_times_s, std::span<const double> b_times_s) {
  LaunchSequence order;
  if (a_times_s.empty() || b_times_s.empty()) return order;
  order.known = true;
  std::vector<std::pair<double, char>> launches;
  for (const double time : a_times_s) launches.emplace_back(time, 'A');
  for (const double time : b_times_s) launches.emplace_back(time, 'B');
  std::sort(launches.begin(), launches.end());
  for (const auto& [time, side] : launches) {
    if (order.pattern.empty() || order.pattern.back() != side) ++order.blocks;
    order.pattern += side;
  }
  const auto [a_first, a_last] = std::minmax_element(a_times_s.begin(), a_times_s.end());
  const auto [b_first, b_last] = std::minmax_element(b_times_s.begin(), b_times_s.end());
  order.separate = *a_last < *b_first || *b_last < *a_first;
  return order;
}

}  // namespace rdmabench::inline v1::analysis

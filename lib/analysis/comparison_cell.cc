// One quantity on both sides: by launch, by pair of nodes, or by night.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "rdmabench/analysis/comparison.h"
#include "rdmabench/measure/statistics.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

/// With at least so many pairs of nodes on both sides the pair is the unit, because launches of one
/// pair are correlated.
constexpr std::size_t kFewestPairs = 8;

/// Averages the launches of each unit.
template <class Unit>
std::map<Unit, double> means_by(const Sample& sample,
                                const std::map<const Launch*, Unit>& unit_of) {
  std::map<Unit, std::vector<double>> units;
  for (const Point& point : sample.points) {
    units[unit_of.at(point.launch)].push_back(point.log_value);
  }
  std::map<Unit, double> means;
  for (const auto& [unit, values] : units) means[unit] = measure::mean(values);
  return means;
}

std::vector<const Launch*> launches_of(const Sample& sample) {
  std::vector<const Launch*> launches;
  for (const Point& point : sample.points) launches.push_back(point.launch);
  return launches;
}

std::vector<double> pair_means(const Sample& sample) {
  std::map<const Launch*, std::string> pairs;
  for (const Launch* launch : launches_of(sample)) pairs[launch] = launch->pair;
  std::vector<double> means;
  for (const auto& [pair, mean] : means_by(sample, pairs)) means.push_back(mean);
  return means;
}

/// A side's launches by night.
struct Nights {
  std::vector<double> means;
  double within = 0;  ///< variance of a launch about its night
};

Nights nights_of(const Sample& sample) {
  const auto sessions = sessions_of(launches_of(sample));
  const auto means = means_by(sample, sessions);
  Nights nights;
  for (const auto& [night, mean] : means) nights.means.push_back(mean);
  for (const Point& point : sample.points) {
    const double off = point.log_value - means.at(sessions.at(point.launch));
    nights.within += off * off;
  }
  const auto degrees = static_cast<double>(sample.points.size() - means.size());
  if (degrees > 0) nights.within /= degrees;
  return nights;
}

/// Whether B's nights are what another night of the baseline A would be: a prediction interval, of
/// Student's t over the nights of A. As long as these are few, nights are taken to differ by the
/// margin at least. Source: Hahn 1969.
Judgement judge_nights(const Sample& a, const Sample& b, const Settings& settings) {
  constexpr double kManyDegrees = 1000;
  const Nights of_a = nights_of(a);
  const Nights of_b = nights_of(b);
  const auto count = static_cast<double>(of_a.means.size());
  const bool few = of_a.means.size() < kMinLaunches;
  double deviation = measure::stddev(of_a.means);
  double degrees = count - 1;
  if (few && deviation < std::log1p(settings.margin)) {
    deviation = std::log1p(settings.margin);
    degrees = kManyDegrees;
  }
  const double variance =
      deviation * deviation * (1 / count + 1 / static_cast<double>(of_b.means.size())) +
      of_a.within / static_cast<double>(b.points.size());
  Judgement judgement =
      judge_estimate(measure::mean(of_b.means) - measure::mean(of_a.means), std::sqrt(variance),
                     degrees, kMinLaunches, settings, "prediction_t");
  judgement.a_units = static_cast<std::uint32_t>(of_a.means.size());
  judgement.b_units = static_cast<std::uint32_t>(of_b.means.size());
  judgement.deviation = deviation;
  if (few && judgement.verdict == Verdict::inconclusive) {
    judgement.text = fmt::format(
        "the baseline holds launches of {}: store those of {} or more, which tell how nights differ",
        counted(of_a.means.size(), "night"), kMinLaunches);
  }
  return judgement;
}

std::uint32_t count_suspect(const Sample& sample) {
  return static_cast<std::uint32_t>(
      std::count_if(sample.points.begin(), sample.points.end(),
                    [](const Point& point) { return !point.launch->suspicions.empty(); }));
}

/// By launch, or by night.
std::vector<Timed> timed(const Sample& sample, bool by_night) {
  std::vector<Timed> values;
  if (by_night) {
    for (const auto& [night, mean] : means_by(sample, sessions_of(launches_of(sample)))) {
      values.push_back({static_cast<double>(night), mean});
    }
    return values;
  }
  for (const Point& point : sample.points) {
    if (point.launch->time_s) values.push_back({*point.launch->time_s, point.log_value});
  }
  return values;
}

}  // namespace

Cell make_cell(const QuantityKey& key, const Sample& a, const Sample& b,
               const ComparisonOptions& options) {
  const Settings& settings = options.settings;
  Cell cell;
  cell.size_bytes = key.size_bytes;
  cell.load = key.load;
  if (!a.refusal.empty() || !b.refusal.empty()) {
    cell.judgement.verdict = Verdict::refused;
    cell.judgement.text = a.refusal.empty() ? b.refusal : a.refusal;
    return cell;
  }
  const std::vector<double> of_a = logs(a);
  const std::vector<double> of_b = logs(b);
  const std::vector<double> pairs_a = pair_means(a);
  const std::vector<double> pairs_b = pair_means(b);
  const bool by_pair = std::min(pairs_a.size(), pairs_b.size()) >= kFewestPairs;
  cell.judgement = options.baseline ? judge_nights(a, b, settings)
                   : by_pair        ? judge(pairs_a, pairs_b, settings)
                                    : judge(of_a, of_b, settings);
  if (!options.baseline && options.planned == 0) plan_further(cell.judgement, settings);
  cell.a_typical = std::exp(measure::mean(of_a));
  cell.b_typical = std::exp(measure::mean(of_b));
  cell.a_variation = measure::stddev(of_a);
  cell.b_variation = measure::stddev(of_b);
  cell.a_suspect = count_suspect(a);
  cell.b_suspect = count_suspect(b);
  cell.drift = find_drift(timed(a, options.baseline), timed(b, options.baseline));
  return cell;
}

}  // namespace rdmabench::inline v1::analysis

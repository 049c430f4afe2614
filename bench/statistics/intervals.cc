// What an interval within one run covers, and one over launches, where runs differ.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "measure/distributions.h"
#include "rdmabench/measure/statistics.h"
#include "studies.h"

namespace rdmabench::inline v1::statistics {
namespace {

using Random = std::mt19937_64;

/// `count` values of mean `mean` and variance 1, of which each depends on the one before by
/// `correlation`: an autoregressive process of order 1.
std::vector<double> dependent(Random& random, std::size_t count, double mean, double correlation) {
  std::normal_distribution<double> normal;
  const double fresh = std::sqrt(1 - correlation * correlation);
  std::vector<double> values;
  double state = normal(random);
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(mean + state);
    state = correlation * state + fresh * normal(random);
  }
  return values;
}

/// How often the order statistics of one run's samples enclose that percentile of all runs.
Outcome within_run(std::uint64_t trials, std::uint64_t seed, double correlation, double between,
                   double percentile = 50) {
  constexpr std::size_t kSamples = 1000;
  Random random(seed);
  std::normal_distribution<double> normal(0, between);
  const measure::RankInterval ranks = measure::percentile_interval(kSamples, percentile);
  const double truth = measure::normal_quantile(percentile / 100);
  std::uint64_t covered = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    auto values = dependent(random, kSamples, between > 0 ? normal(random) : 0, correlation);
    std::ranges::sort(values);
    covered += values[ranks.low] <= truth && truth <= values[ranks.high] ? 1 : 0;
  }
  return {.setting = fmt::format("one run, autocorrelation {}, runs differ by {} of a run's spread",
                                 correlation, between),
          .quantity = fmt::format("covers the true p{}", percentile),
          .rate = rate(covered, trials),
          .trials = trials};
}

/// Student's t over the medians of launches.
Outcome over_launches(std::uint64_t trials, std::uint64_t seed, std::size_t launches,
                      double between) {
  Random random(seed);
  std::normal_distribution<double> normal(0, between);
  const double t = measure::t_quantile(0.975, static_cast<double>(launches - 1));
  std::uint64_t covered = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    std::vector<double> medians;
    for (std::size_t launch = 0; launch < launches; ++launch) medians.push_back(normal(random));
    const double half = t * measure::stddev(medians) / std::sqrt(static_cast<double>(launches));
    covered += std::abs(measure::mean(medians)) <= half ? 1 : 0;
  }
  return {
      .setting = fmt::format("{} launches, runs differ by {} of a run's spread", launches, between),
      .quantity = "covers the true median",
      .rate = rate(covered, trials),
      .at_least = 0.945,
      .trials = trials};
}

}  // namespace

std::vector<Outcome> intervals(std::uint64_t trials, std::uint64_t seed) {
  return {within_run(trials, seed, 0, 0),       within_run(trials, seed, 0.5, 0),
          within_run(trials, seed, 0.9, 0),     within_run(trials, seed, 0, 1),
          within_run(trials, seed, 0.5, 0, 99), within_run(trials, seed, 0.9, 0, 99),
          over_launches(trials, seed, 5, 1),    over_launches(trials, seed, 12, 1)};
}

}  // namespace rdmabench::inline v1::statistics

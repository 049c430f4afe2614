// What the interval of a run covers that ended when its epochs agreed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "rdmabench/measure/statistics.h"
#include "rdmabench/measure/stop.h"
#include "studies.h"

namespace rdmabench::inline v1::statistics {
namespace {

constexpr double kCenter = 1000;
// As the rule cuts them: epochs of a latency, and those of a stream, which have many parts.
constexpr double kEpochNs = 22.7e6;
constexpr double kStreamNs = 500e6;
constexpr std::size_t kParts = 31;

/// Locations of epochs about kCenter that scatter by `noise` of it, each depending on the one
/// before by `correlation`.
class Epochs {
 public:
  Epochs(std::mt19937_64& random, double noise, double correlation)
      : random_(random),
        noise_(noise * kCenter),
        correlation_(correlation),
        state_(normal_(random)) {}

  double next() {
    const double now = kCenter + noise_ * state_;
    state_ = correlation_ * state_ + std::sqrt(1 - correlation_ * correlation_) * normal_(random_);
    return now;
  }

 private:
  std::mt19937_64& random_;
  std::normal_distribution<double> normal_;
  double noise_;
  double correlation_;
  double state_;
};

struct Stop {
  bool stable = false;
  measure::Estimate interval;
};

template <measure::Location kLocation>
Stop now(Epochs epochs) {
  measure::Stopper stopper(measure::StopRule::stable(), kLocation);
  const bool stream = kLocation == measure::Location::mean;
  while (stopper.next_epoch() != 0) {
    std::vector<double> locations(stream ? kParts : 1);
    for (double& location : locations) location = epochs.next();
    stopper.add(10'000, stream ? kStreamNs : kEpochNs, locations);
  }
  return {stopper.converged(), stopper.interval()};
}

/// As it was: after every epoch from the eleventh on, by the order statistics at 95 %.
Stop after_every_epoch(Epochs epochs) {
  constexpr std::size_t kFewest = 11;
  constexpr std::size_t kMost = 220;  // of 45 ms
  std::vector<double> locations;
  Stop stop;
  while (locations.size() < kMost && !stop.stable) {
    locations.push_back(epochs.next());
    if (locations.size() < kFewest) continue;
    stop.interval = measure::estimate_percentile(locations, 50);
    stop.stable = (stop.interval.high - stop.interval.low) / 2 <= 0.005 * stop.interval.value;
  }
  return stop;
}

void add(std::vector<Outcome>& outcomes, Stop (*rule)(Epochs), std::string_view name, double noise,
         double correlation, double at_least, std::uint64_t trials, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uint64_t covered = 0;
  std::uint64_t stable = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const Stop stop = rule(Epochs(random, noise, correlation));
    if (!stop.stable) continue;
    ++stable;
    covered += stop.interval.low <= kCenter && kCenter <= stop.interval.high ? 1 : 0;
  }
  const std::string setting = fmt::format("{}, epochs scatter by {:g} %, autocorrelation {:g}",
                                          name, noise * 100, correlation);
  const auto all = static_cast<double>(trials);
  outcomes.push_back({.setting = setting,
                      .quantity = "called stable",
                      .rate = static_cast<double>(stable) / all,
                      .trials = trials});
  if (stable == 0) return;
  outcomes.push_back({.setting = setting,
                      .quantity = "then covers the true value",
                      .rate = static_cast<double>(covered) / static_cast<double>(stable),
                      .at_least = at_least,
                      .trials = stable});
}

}  // namespace

std::vector<Outcome> stopping(std::uint64_t trials, std::uint64_t seed) {
  std::vector<Outcome> outcomes;
  for (const double noise : {0.005, 0.01, 0.02}) {
    for (const auto& [correlation, promised] : {std::pair{0.0, 0.99}, {0.5, 0.95}, {0.9, 0.0}}) {
      add(outcomes, after_every_epoch, "median, after every epoch at 95 %", noise, correlation, 0,
          trials, seed);
      add(outcomes, now<measure::Location::mean>, "mean, when they double at 99 %", noise,
          correlation, promised, trials, seed);
      add(outcomes, now<measure::Location::median>, "median, when they double at 99 %", noise,
          correlation, promised, trials, seed);
    }
  }
  return outcomes;
}

}  // namespace rdmabench::inline v1::statistics

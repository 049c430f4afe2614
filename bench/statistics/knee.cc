// How often the knee of a curve of latency under load is at the wrong load.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "run/load_curve.h"
#include "studies.h"

namespace rdmabench::inline v1::statistics {
namespace {

using Rows = std::vector<report::LoadResult>;

struct Machine {
  double median_noise;  ///< standard deviation of the logs of a load's median ...
  double tail_noise;    ///< ... and of its 99th percentile
  double disturbed;     ///< share of loads that something else makes 3 to 30 times slower
};

/// A queue of Poisson arrivals and a service of 1 us behind a path of 5 us: its wait exceeds t with
/// a probability of about u exp(-2 (1 - u) t / u) at a load of u.
Rows curve(std::mt19937_64& random, const Machine& machine) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> even;
  Rows rows;
  for (const double load : run::kLoads) {
    report::LoadResult row;
    row.load = load;
    row.offered_messages_per_s = load * 1e6;
    row.achieved_messages_per_s = std::min(load, 1.0) * 1e6;
    const auto latency = [&](double beyond, double noise) {
      const double wait = load < 1 ? std::log(load / beyond) * load / (2 * (1 - load)) : 1000;
      return (5000 + 1000 * std::max(0.0, wait)) * std::exp(noise * normal(random));
    };
    const double slower = even(random) < machine.disturbed ? 3 + 27 * even(random) : 1;
    row.latency.latency.p50_ns = slower * latency(0.5, machine.median_noise);
    row.latency.latency.p99_ns = slower * latency(0.01, machine.tail_noise);
    rows.push_back(row);
  }
  run::mark_knee(rows);
  return rows;
}

std::optional<std::ptrdiff_t> knee_of(const Rows& rows) {
  const auto found = std::ranges::find_if(rows, [](const auto& row) { return row.knee; });
  if (found == rows.end()) return std::nullopt;
  return found - rows.begin();
}

}  // namespace

std::vector<Outcome> knee(std::uint64_t trials, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::ptrdiff_t truth = knee_of(curve(random, {})).value();
  std::vector<Outcome> outcomes;
  for (const Machine& machine : {Machine{0.02, 0.1, 0},
                                 {0.05, 0.3, 0},
                                 {0.05, 0.3, 0.05},
                                 {0.05, 0.3, 0.1},
                                 {0.1, 0.5, 0.05}}) {
    std::uint64_t reliable = 0;
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < trials; ++i) {
      const Rows rows = curve(random, machine);
      const auto at = knee_of(rows);
      if (!at || !rows[static_cast<std::size_t>(*at)].knee_reliable) continue;
      ++reliable;
      wrong += std::abs(*at - truth) > 1 ? 1 : 0;
    }
    const std::string setting =
        fmt::format("median varies by {:g} %, p99 by {:g} %, {:g} % of loads disturbed",
                    100 * machine.median_noise, 100 * machine.tail_noise, 100 * machine.disturbed);
    outcomes.push_back({.setting = setting,
                        .quantity = "called reliable",
                        .rate = static_cast<double>(reliable) / static_cast<double>(trials),
                        .trials = trials});
    outcomes.push_back({.setting = setting,
                        .quantity = "then more than one load off",
                        .rate = static_cast<double>(wrong) / static_cast<double>(reliable),
                        .at_most = 0.06,
                        .trials = reliable});
  }
  return outcomes;
}

}  // namespace rdmabench::inline v1::statistics

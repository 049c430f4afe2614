// How often --expect is wrong at its limit, where runs differ: by the run's own interval, as it was
// before, and by launches.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "analysis/power.h"
#include "measure/distributions.h"
#include "measure/limit.h"
#include "rdmabench/measure/statistics.h"
#include "studies.h"

namespace rdmabench::inline v1::statistics {
namespace {

/// A system whose true value is `beyond` above its limit `bw>=`, in logs; a baseline is unchanged.
struct Setting {
  std::size_t launches = 1;
  std::size_t baseline = 0;  ///< documents; 0: the limit is absolute
  std::size_t rows = 1;      ///< of independent noise
  double noise = 0.02;       ///< of runs: the standard deviation of their logs
  double of_baseline = 0;    ///< of the baseline's; 0: the same
  double beyond = 0;
};

struct Rates {
  double any_fail = 0;  ///< of the runs
  double pass = 0;      ///< of the rows
  double fail = 0;      ///< of the rows
};

std::string text_of(const Setting& of) {
  std::string text = of.launches == 1 ? "one run" : fmt::format("{} launches", of.launches);
  if (of.baseline > 0) text += fmt::format(", baseline of {}", of.baseline);
  text += fmt::format(", {} row{}, noise {:g} %", of.rows, of.rows == 1 ? "" : "s", 100 * of.noise);
  if (of.of_baseline > 0) text += fmt::format(", of the baseline {:g} %", 100 * of.of_baseline);
  if (of.beyond == 0) return text + ", at the limit";
  return text + fmt::format(", {:.3g} % {} the limit", 100 * std::abs(std::expm1(of.beyond)),
                            of.beyond < 0 ? "below" : "above");
}

/// `judge` says what came of the rows of one run: 1 PASS, -1 FAIL, 0 OPEN.
template <class Judge>
Rates simulate(const Setting& of, std::uint64_t trials, std::uint64_t seed, Judge judge) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> measured(of.rows, std::vector<double>(of.launches));
  std::vector<std::vector<double>> held(of.rows, std::vector<double>(of.baseline));
  const double noise_held = of.of_baseline > 0 ? of.of_baseline : of.noise;
  Rates rates;
  for (std::uint64_t i = 0; i < trials; ++i) {
    for (auto& row : measured) {
      for (double& one : row) one = of.beyond + of.noise * normal(random);
    }
    for (auto& row : held) {
      for (double& one : row) one = noise_held * normal(random);
    }
    bool any = false;
    for (const int one : judge(measured, held)) {
      rates.pass += one > 0 ? 1 : 0;
      rates.fail += one < 0 ? 1 : 0;
      any = any || one < 0;
    }
    rates.any_fail += any ? 1 : 0;
  }
  const auto runs = static_cast<double>(trials);
  rates.any_fail /= runs;
  rates.pass /= runs * static_cast<double>(of.rows);
  rates.fail /= runs * static_cast<double>(of.rows);
  return rates;
}

using Rows = std::vector<std::vector<double>>;

/// The rule until 2026: the interval within the run, here 0.35 % to both sides, decides alone.
std::vector<int> by_its_own_interval(const Rows& measured, const Rows& held) {
  constexpr double kHalf = 0.0035;
  std::vector<int> judged;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double difference = measured[i].front() - measure::mean(held[i]);
    judged.push_back(std::abs(difference) <= kHalf ? 0 : difference > 0 ? 1 : -1);
  }
  return judged;
}

std::vector<int> by_launches(const Rows& measured, const Rows& held) {
  std::vector<double> breaks;
  std::vector<int> judged;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto distance = measure::distance({measured[i]}, measure::mean(held[i]), {held[i]});
    breaks.push_back(distance.chance_below());
    judged.push_back(distance.chance_above() <= measure::kFalse ? 1 : 0);
  }
  const std::vector<double> adjusted = measure::holm(breaks);
  for (std::size_t i = 0; i < judged.size(); ++i) {
    if (adjusted[i] <= measure::kFalse) judged[i] = -1;
  }
  return judged;
}

/// Welch's test with his own degrees of freedom, by row: what is not done.
std::vector<int> by_welch(const Rows& measured, const Rows& held) {
  std::vector<int> judged;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto part = [](const std::vector<double>& logs) {
      const auto count = static_cast<double>(logs.size());
      return analysis::VariancePart{std::pow(measure::stddev(logs), 2) / count, count - 1};
    };
    const std::vector<analysis::VariancePart> parts{part(measured[i]), part(held[i])};
    const double error = std::sqrt(parts[0].variance + parts[1].variance);
    const double chance =
        measure::t_below((measure::mean(measured[i]) - measure::mean(held[i])) / error,
                         analysis::welch_degrees(parts));
    judged.push_back(chance <= measure::kFalse / static_cast<double>(measured.size()) ? -1 : 0);
  }
  return judged;
}

}  // namespace

std::vector<Outcome> gates(std::uint64_t trials, std::uint64_t seed) {
  std::vector<Outcome> all;
  const auto add = [&](const Setting& of, const char* quantity, double rate, std::uint64_t count,
                       double at_least, double at_most) {
    all.push_back({text_of(of), quantity, rate, at_least, at_most, count});
  };
  for (const Setting& of : {Setting{}, Setting{.baseline = 1, .rows = 24, .beyond = 0.05129}}) {
    const Rates rates = simulate(of, trials, seed, by_its_own_interval);
    add(of, "before: FAIL of a system that keeps it", rates.any_fail, trials, 0, 1);
    if (of.beyond == 0) add(of, "before: PASS", rates.pass, trials, 0, 1);
  }
  for (const std::size_t rows : {1, 24}) {
    const Setting of{.launches = 10, .baseline = 2, .rows = rows};
    add(of, "by Welch's own degrees: false FAIL of any row",
        simulate(of, trials, seed, by_welch).any_fail, trials, 0, 1);
  }
  const auto at_limit = [&](Setting of) {
    for (const std::size_t rows : {1, 24, 100}) {
      of.rows = rows;
      const Rates rates = simulate(of, trials, seed, by_launches);
      add(of, "false FAIL of any row", rates.any_fail, trials, 0, measure::kFalse);
      add(of, "false PASS of a row", rates.pass, trials * rows, 0, measure::kFalse);
    }
  };
  at_limit({});
  at_limit({.noise = 0.04});
  at_limit({.launches = 5});
  at_limit({.launches = 12});
  for (const std::size_t launches : {2, 4}) at_limit({.launches = launches, .noise = 0.04});
  at_limit({.baseline = 1});
  at_limit({.launches = 5, .baseline = 2});
  for (const std::size_t baseline : {1, 2}) {
    at_limit({.launches = 5, .baseline = baseline, .noise = 0.01, .of_baseline = 0.04});
    at_limit({.launches = 5, .baseline = baseline, .noise = 0.06, .of_baseline = 0.04});
  }
  at_limit({.baseline = 5, .noise = 0.04, .of_baseline = 0.01});
  at_limit({.launches = 5, .baseline = 5});
  at_limit({.launches = 5, .baseline = 5, .of_baseline = 0.06});
  at_limit({.launches = 10, .baseline = 5, .of_baseline = 0.06});
  for (const std::size_t launches : {2, 3, 4}) {
    const Setting of{.launches = launches, .noise = 0.06};  // more than is stated
    const Rates rates = simulate(of, trials, seed, by_launches);
    add(of, "false FAIL of any row", rates.any_fail, trials, 0, measure::kFalse);
    add(of, "false PASS of a row", rates.pass, trials, 0, measure::kFalse);
  }
  // What they do find.
  const auto beyond = [&](const Setting& of, double least) {
    const Rates rates = simulate(of, trials, seed, by_launches);
    const std::uint64_t rows = trials * of.rows;
    if (of.beyond < 0) add(of, "FAIL of a row", rates.fail, rows, least, 1);
    if (of.beyond > 0) add(of, "PASS of a row", rates.pass, rows, least, 1);
  };
  beyond({.rows = 100, .beyond = std::log(0.5)}, 0.999);
  beyond({.beyond = std::log(0.9)}, 0);
  beyond({.launches = 5, .beyond = std::log(0.95)}, 0.9);
  beyond({.launches = 5, .rows = 24, .beyond = std::log(0.9)}, 0.9);
  beyond({.launches = 5, .baseline = 5, .rows = 24, .beyond = 0.05129}, 0.7);
  return all;
}

}  // namespace rdmabench::inline v1::statistics

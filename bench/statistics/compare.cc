// How often compare is wrong: at the margin, after a second look, in blocks of launches that are
// alike, and night after night against a baseline.
#include <fmt/format.h>

#include <cmath>
#include <random>
#include <span>

#include "analysis/power.h"
#include "rdmabench/analysis/comparison.h"
#include "studies.h"

namespace rdmabench::inline v1::statistics {
namespace {

using analysis::Launch;
using analysis::Verdict;
using Random = std::mt19937_64;

constexpr double kMargin = 0.05;
constexpr double kHour = 3600;

/// A launch of `bw` whose rows have these logs.
Launch launch_of(const std::vector<double>& logs, double time_s) {
  Launch launch;
  launch.test = "bandwidth";
  launch.pair = "node1 node2";
  launch.time_s = time_s;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    analysis::Row row;
    row.operation = "write";
    row.kind = "payload";
    row.size_bytes = std::uint64_t{1} << i;
    row.bits_per_s = 1e11 * std::exp(logs[i]);
    launch.rows.push_back(std::move(row));
  }
  static std::uint64_t number = 0;
  launch.document = fmt::format("{}", ++number);  // no two are copies
  return launch;
}

struct Noise {
  double deviation = 0.02;
  bool skewed = false;  // a gamma distribution of shape 4, whose skewness is 1
  double correlation = 0;

  /// `count` of them in turn.
  std::vector<double> draw(Random& random, std::size_t count) const {
    std::normal_distribution<double> normal;
    std::gamma_distribution<double> gamma(4, 1);
    std::vector<double> values;
    double state = normal(random);
    for (std::size_t i = 0; i < count; ++i) {
      if (correlation > 0) {
        values.push_back(deviation * state);
        state = correlation * state + std::sqrt(1 - correlation * correlation) * normal(random);
      } else {
        values.push_back(deviation * (skewed ? (gamma(random) - 4) / 2 : normal(random)));
      }
    }
    return values;
  }
};

bool is_within(Verdict verdict) {
  return verdict == Verdict::equivalent || verdict == Verdict::immaterial;
}

/// Both sides' values, B higher by the margin: a verdict of either kind is wrong with alpha.
std::pair<std::vector<double>, std::vector<double>> at_margin(Random& random, const Noise& noise,
                                                              std::size_t a, std::size_t b) {
  auto of_a = noise.draw(random, a);
  auto of_b = noise.draw(random, b);
  for (double& value : of_b) value += std::log1p(kMargin);
  return {of_a, of_b};
}

struct Rates {
  double within = 0;
  double different = 0;
  double equivalent_or_open = 0;
};

/// B higher by `difference`, a log.
Rates judged(std::uint64_t trials, std::uint64_t seed, const Noise& noise, std::size_t a,
             std::size_t b, double difference) {
  Random random(seed);
  std::uint64_t within = 0;
  std::uint64_t different = 0;
  std::uint64_t fine = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const auto of_a = noise.draw(random, a);
    auto of_b = noise.draw(random, b);
    for (double& value : of_b) value += difference;
    const Verdict verdict = analysis::judge(of_a, of_b, {}).verdict;
    within += is_within(verdict) ? 1 : 0;
    different += verdict == Verdict::different ? 1 : 0;
    fine += verdict == Verdict::equivalent || verdict == Verdict::inconclusive ? 1 : 0;
  }
  return {rate(within, trials), rate(different, trials), rate(fine, trials)};
}

void add_one_look(std::vector<Outcome>& outcomes, std::uint64_t trials, std::uint64_t seed,
                  const Noise& noise, std::size_t a, std::size_t b) {
  const std::string setting =
      fmt::format("{} and {} launches, {} noise of {:g} %", a, b,
                  noise.skewed ? "skewed" : "normal", 100 * noise.deviation);
  // Unequal numbers let the skewness of noise through: compare says so in a note.
  const double most = a != b && noise.skewed ? 0.1 : 0.06;
  const Rates above = judged(trials, seed, noise, a, b, std::log1p(kMargin));
  const Rates below = judged(trials, seed, noise, a, b, -std::log1p(kMargin));
  const Rates same = judged(trials, seed, noise, a, b, 0);
  const auto add = [&](const char* quantity, double rate, double at_most, double at_least = 0) {
    outcomes.push_back({.setting = setting,
                        .quantity = quantity,
                        .rate = rate,
                        .at_least = at_least,
                        .at_most = at_most,
                        .trials = trials});
  };
  add("EQUIVALENT at the margin", above.within, most);
  add("EQUIVALENT at the margin below", below.within, most);
  add("BETTER or WORSE at the margin", above.different, most);
  add("BETTER or WORSE at the margin below", below.different, most);
  add("BETTER or WORSE of one fabric", same.different, 0.005);
  add("EQUIVALENT or INCONCLUSIVE of one fabric", same.equivalent_or_open, 1, 0.95);
}

/// As many launches as are planned prove an equality about as often as asked.
Outcome planned_power(std::uint64_t trials, std::uint64_t seed, double deviation) {
  const auto needed = analysis::launches_needed({.deviation = deviation}).value_or(0);
  return {.setting = fmt::format("{} launches, as planned for normal noise of {:g} %", needed,
                                 100 * deviation),
          .quantity = "EQUIVALENT of one fabric (90 % are asked for)",
          .rate = judged(trials, seed, {.deviation = deviation}, needed, needed, 0).within,
          .at_least = 0.88,
          .at_most = 0.97,
          .trials = trials};
}

/// A look after every launch of each side from the fifth on, to the 20 that were planned.
void add_many_looks(std::vector<Outcome>& outcomes, std::uint64_t trials, std::uint64_t seed,
                    bool spends) {
  constexpr std::size_t kPlanned = 20;
  Random random(seed);
  std::uint64_t equivalent = 0;
  std::uint64_t beyond = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const auto [a, b] = at_margin(random, {}, kPlanned, kPlanned);
    bool within = false;
    bool different = false;
    for (std::size_t n = analysis::kMinLaunches; n <= kPlanned && !(within && different); ++n) {
      analysis::Settings settings;
      if (spends) {
        settings.alpha = analysis::alpha_of_look(settings.alpha, rate(n, kPlanned));
      }
      const Verdict verdict =
          analysis::judge(std::span(a).first(n), std::span(b).first(n), settings).verdict;
      within |= is_within(verdict);
      different |= verdict == Verdict::different;
    }
    equivalent += within ? 1 : 0;
    beyond += different ? 1 : 0;
  }
  for (const bool is_equivalent : {true, false}) {
    outcomes.push_back({.setting = fmt::format("a look after each of 5 to 20 launches, {}",
                                               spends ? "--planned 20" : "each at 5 %"),
                        .quantity = fmt::format("{} at the margin in any",
                                                is_equivalent ? "EQUIVALENT" : "BETTER or WORSE"),
                        .rate = rate(is_equivalent ? equivalent : beyond, trials),
                        .at_most = spends ? 0.055 : 1,
                        .trials = trials});
  }
}

/// Where the first look is open, as many launches more as it says.
Outcome two_looks(std::uint64_t trials, std::uint64_t seed, double deviation, bool added) {
  constexpr std::size_t kFirst = 5;
  const Noise noise{.deviation = deviation};
  Random random(seed);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    auto [a, b] = at_margin(random, noise, kFirst, kFirst);
    analysis::Judgement judgement = analysis::judge(a, b, {});
    analysis::plan_further(judgement, {});
    if (judgement.verdict == Verdict::inconclusive && judgement.more &&
        judgement.obstacle == analysis::Obstacle::none) {
      auto [more_a, more_b] = at_margin(random, noise, *judgement.more, *judgement.more);
      if (added) {
        more_a.insert(more_a.end(), a.begin(), a.end());
        more_b.insert(more_b.end(), b.begin(), b.end());
      }
      judgement = analysis::judge(more_a, more_b, {});
    }
    wrong += is_within(judgement.verdict) || judgement.verdict == Verdict::different ? 1 : 0;
  }
  return {.setting = fmt::format("5 launches, then as many {} as it says, noise of {:g} %",
                                 added ? "added" : "anew", 100 * deviation),
          .quantity = "false verdict of either kind",
          .rate = rate(wrong, trials),
          .at_most = added ? 1 : 0.16,
          .trials = trials};
}

/// One fabric twice, in blocks or in turn, of which the next launch is like the last.
Outcome alike(std::uint64_t trials, std::uint64_t seed, double correlation, bool in_turn,
              std::size_t each, double deviation) {
  Random random(seed);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < trials; ++i) {
    const auto values =
        Noise{.deviation = deviation, .correlation = correlation}.draw(random, 2 * each);
    std::vector<Launch> a;
    std::vector<Launch> b;
    for (std::size_t at = 0; at < values.size(); ++at) {
      const bool first = in_turn ? (at + 1) / 2 % 2 == 0 : at < each;
      (first ? a : b).push_back(launch_of({values[at]}, 60 * static_cast<double>(at)));
    }
    wrong += analysis::compare(a, b, {}).verdict == Verdict::different ? 1 : 0;
  }
  return {.setting =
              fmt::format("one fabric twice, {} launches each, noise of {:g} %, "
                          "autocorrelation {}, {}",
                          each, 100 * deviation, correlation, in_turn ? "A B B A" : "A A ... B B"),
          .quantity = "BETTER or WORSE",
          .rate = rate(wrong, trials),
          // Of five in blocks that they are alike is seldom seen: docs/statistics.md.
          .at_most = in_turn || each > 5 ? 0.05 : 1,
          .trials = trials};
}

/// Whether an unchanged system is called a regression in any of 30 nights.
void add_nights(std::vector<Outcome>& outcomes, std::uint64_t trials, std::uint64_t seed,
                double between, std::size_t stored) {
  constexpr std::size_t kNights = 30;
  constexpr std::size_t kLaunches = 5;
  const Noise within{.deviation = 0.01};
  constexpr double kSlower = 0.2;
  std::uint64_t wrong = 0;
  std::uint64_t found = 0;
  Random random(seed);
  std::normal_distribution<double> night(0, between);
  const auto measure = [&](std::size_t number, std::vector<Launch>& launches, double slower = 0) {
    const double shift = night(random) - slower;
    double time_s = 24 * kHour * static_cast<double>(number);
    for (const double value : within.draw(random, kLaunches)) {
      launches.push_back(launch_of({shift + value}, time_s += 60));
    }
  };
  for (std::uint64_t i = 0; i < trials; ++i) {
    std::vector<Launch> baseline;
    for (std::size_t at = 0; at < stored; ++at) measure(at, baseline);
    bool regression = false;
    for (std::size_t at = stored; at < stored + kNights && !regression; ++at) {
      std::vector<Launch> tonight;
      measure(at, tonight);
      regression = analysis::compare(baseline, tonight, {.baseline = true}).failed();
    }
    wrong += regression ? 1 : 0;
    std::vector<Launch> slow;
    measure(stored + kNights, slow, kSlower);
    found += analysis::compare(baseline, slow, {.baseline = true}).failed() ? 1 : 0;
  }
  const std::string setting = fmt::format("baseline of {} night{}, {:g} % between nights", stored,
                                          stored == 1 ? "" : "s", 100 * between);
  outcomes.push_back({.setting = setting,
                      .quantity = "a false REGRESSION within 30 nights",
                      .rate = rate(wrong, trials),
                      .at_most = between > 0.03 ? 1 : 0.05,
                      .trials = trials});
  outcomes.push_back({.setting = setting,
                      .quantity = "a REGRESSION where it is 18 % slower",
                      .rate = rate(found, trials),
                      .trials = trials});
}

}  // namespace

std::vector<Outcome> compare(std::uint64_t trials, std::uint64_t seed) {
  std::vector<Outcome> outcomes;
  for (const bool skewed : {false, true}) {
    for (const double deviation : {0.005, 0.01, 0.02, 0.05}) {
      for (const auto& [a, b] :
           {std::pair(5, 5), std::pair(7, 7), std::pair(10, 10), std::pair(15, 15),
            std::pair(20, 20), std::pair(25, 25), std::pair(5, 20)}) {
        add_one_look(outcomes, trials, seed, {.deviation = deviation, .skewed = skewed},
                     static_cast<std::size_t>(a), static_cast<std::size_t>(b));
      }
    }
  }
  for (const double deviation : {0.02, 0.03, 0.04}) {
    outcomes.push_back(planned_power(trials, seed, deviation));
  }
  for (const bool spends : {false, true}) add_many_looks(outcomes, trials, seed, spends);
  for (const double deviation : {0.02, 0.03, 0.05}) {
    for (const bool added : {true, false}) {
      outcomes.push_back(two_looks(trials, seed, deviation, added));
    }
  }
  for (const auto& [each, deviation] :
       {std::pair(10, 0.05), std::pair(5, 0.05), std::pair(5, 0.1)}) {
    for (const double correlation : {0.5, 0.9}) {
      for (const bool in_turn : {false, true}) {
        outcomes.push_back(alike(trials / 4, seed, correlation, in_turn,
                                 static_cast<std::size_t>(each), deviation));
      }
    }
  }
  return outcomes;
}

std::vector<Outcome> baseline(std::uint64_t trials, std::uint64_t seed) {
  std::vector<Outcome> outcomes;
  for (const double between : {0.01, 0.02, 0.03, 0.05, 0.1}) {
    for (const std::size_t stored : {1, 2, 5, 10}) {
      add_nights(outcomes, trials, seed, between, stored);
    }
  }
  return outcomes;
}

}  // namespace rdmabench::inline v1::statistics

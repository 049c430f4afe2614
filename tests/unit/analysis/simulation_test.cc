// How often the verdicts are wrong, by simulation. The tables are those of docs/compare.md; fixed
// seeds, so that a rate cannot fail by chance.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "analysis/power.h"
#include "rdmabench/analysis/verdict.h"

namespace rdmabench::analysis {
namespace {

constexpr int kTrials = 5000;

/// Noise of logs with mean 0 and variance 1.
enum class Noise { normal, skewed };

class Source {
 public:
  Source(Noise noise, std::uint64_t seed) : noise_(noise), random_(seed) {}
  /// The skewed one is a gamma distribution of shape 4: a skewness of 1, long on the slow side.
  double operator()() {
    if (noise_ == Noise::normal) return normal_(random_);
    return (gamma_(random_) - 4) / 2;
  }
  std::vector<double> draw(int count, double mean, double deviation) {
    std::vector<double> values;
    for (int i = 0; i < count; ++i) values.push_back(mean + deviation * (*this)());
    return values;
  }

 private:
  Noise noise_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::gamma_distribution<double> gamma_{4, 1};
};

const char* name(Noise noise) {
  return noise == Noise::normal ? "normal" : "skewed";
}

bool is_within(Verdict verdict) {
  return verdict == Verdict::equivalent || verdict == Verdict::immaterial;
}

struct Rates {
  double within = 0;
  double different = 0;
  double open_or_equivalent = 0;
};

Rates simulate(Noise noise, int a_count, int b_count, double difference, double deviation,
               std::uint64_t seed, int trials = kTrials, std::uint32_t resamples = 999) {
  Source source(noise, seed);
  const Settings settings{.resamples = resamples};
  int within = 0;
  int different = 0;
  int fine = 0;
  for (int i = 0; i < trials; ++i) {
    const Verdict verdict = judge(source.draw(a_count, 0, deviation),
                                  source.draw(b_count, difference, deviation), settings)
                                .verdict;
    within += is_within(verdict) ? 1 : 0;
    different += verdict == Verdict::different ? 1 : 0;
    fine += verdict == Verdict::equivalent || verdict == Verdict::inconclusive ? 1 : 0;
  }
  const auto all = static_cast<double>(trials);
  return {within / all, different / all, fine / all};
}

TEST(Simulation, FalseEquivalentAtTheMargin) {
  std::puts("| launches of A, B | noise | CV | EQUIVALENT or IMMATERIAL, above | below |");
  std::puts("|---|---|---|---|---|");
  std::uint64_t seed = 100;
  const double margin = std::log1p(0.05);
  for (const auto& [a, b] : {std::pair(5, 5), std::pair(7, 7), std::pair(10, 10), std::pair(15, 15),
                             std::pair(20, 20), std::pair(5, 20)}) {
    for (const Noise noise : {Noise::normal, Noise::skewed}) {
      for (const double deviation : {0.01, 0.02}) {
        const Rates above = simulate(noise, a, b, margin, deviation, ++seed);
        const Rates below = simulate(noise, a, b, -margin, deviation, ++seed);
        fmt::print("| {}, {} | {} | {:g} % | {:.1f} % | {:.1f} % |\n", a, b, name(noise),
                   100 * deviation, 100 * above.within, 100 * below.within);
        // Unequal numbers and skewed noise together are beyond what the issue asks: 5 and 20 of it
        // are in the table, and have a bound of their own.
        const double bound = a != b && noise == Noise::skewed ? 0.10 : 0.06;
        EXPECT_LE(above.within, bound) << a << " " << b << " " << name(noise) << deviation;
        EXPECT_LE(below.within, bound) << a << " " << b << " " << name(noise) << deviation;
      }
    }
  }
}

TEST(Simulation, FalseDifferentAtTheMargin) {
  const double margin = std::log1p(0.05);
  for (const int launches : {5, 10, 20}) {
    const Rates rates = simulate(Noise::normal, launches, launches, margin, 0.02, 900 + launches);
    EXPECT_LE(rates.different, 0.06) << launches;
  }
}

TEST(Simulation, TheSameFabricTwice) {
  std::puts("| launches of each | noise | CV | EQUIVALENT or INCONCLUSIVE | DIFFERENT |");
  std::puts("|---|---|---|---|---|");
  std::uint64_t seed = 2000;
  for (const int launches : {5, 10, 20}) {
    for (const Noise noise : {Noise::normal, Noise::skewed}) {
      for (const double deviation : {0.005, 0.02, 0.05}) {
        const Rates rates = simulate(noise, launches, launches, 0, deviation, ++seed);
        fmt::print("| {} | {} | {:g} % | {:.1f} % | {:.2f} % |\n", launches, name(noise),
                   100 * deviation, 100 * rates.open_or_equivalent, 100 * rates.different);
        EXPECT_GE(rates.open_or_equivalent, 0.95);
        EXPECT_LE(rates.different, 0.005);
      }
    }
  }
}

TEST(Simulation, TheBootstrapAboveTwenty) {
  const double margin = std::log1p(0.05);
  for (const Noise noise : {Noise::normal, Noise::skewed}) {
    const Rates rates = simulate(noise, 25, 25, margin, 0.03, 3000, 600);
    fmt::print("bootstrap, 25 launches of each, {}: {:.1f} % within at the margin\n", name(noise),
               100 * rates.within);
    EXPECT_LE(rates.within, 0.08) << "600 trials: 5 % +- 0.9 %";
    EXPECT_GE(rates.within, 0.02);
  }
}

// What plan_further() promises: the launches it asks for give a verdict about as often as asked.
TEST(Simulation, ThePlannedLaunchesReachTheirPower) {
  for (const double deviation : {0.02, 0.03, 0.04}) {
    const auto needed = launches_needed({.deviation = deviation});
    ASSERT_TRUE(needed && *needed <= 20) << *needed;
    const Rates rates = simulate(Noise::normal, static_cast<int>(*needed),
                                 static_cast<int>(*needed), 0, deviation, 4000 + *needed);
    EXPECT_GE(rates.within, 0.88) << deviation;
    EXPECT_LE(rates.within, 0.97) << deviation;
  }
}

}  // namespace
}  // namespace rdmabench::analysis

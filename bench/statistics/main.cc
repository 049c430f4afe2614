// How often our verdicts are wrong: the tables of docs/statistics.md.
//   build/release/bench/statistics           every study, minutes
//   build/release/bench/statistics NAME...   these alone
//   build/release/bench/statistics --test    few trials, and an error where a rate breaks its bound
//                                            by more than chance does once in 10,000 runs
#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "studies.h"

namespace rdmabench::inline v1::statistics {
namespace {

/// Whether so many of the trials, or more to that side, have a chance below one in 10,000 where
/// the rate is at its bound.
bool broken(const Outcome& outcome) {
  constexpr double kChance = 1e-4;
  const auto trials = static_cast<double>(outcome.trials);
  const double count = outcome.rate * trials;
  if (outcome.rate > outcome.at_most) {
    return outcome.at_most <= 0 ||
           boost::math::cdf(complement(boost::math::binomial(trials, outcome.at_most),
                                       std::max(count - 1, 0.0))) < kChance;
  }
  if (outcome.rate < outcome.at_least) {
    return boost::math::cdf(boost::math::binomial(trials, outcome.at_least), count) < kChance;
  }
  return false;
}

int run(const std::vector<std::string>& names, bool test) {
  constexpr std::uint64_t kSeed = 1;
  int failures = 0;
  fmt::print("study\tsetting\tquantity\trate\tat least\tat most\ttrials\n");
  for (const Study& study : kStudies) {
    if (!names.empty() && std::ranges::find(names, study.name) == names.end()) continue;
    for (const Outcome& outcome : study.run(test ? study.test_trials : study.trials, kSeed)) {
      const bool fails = broken(outcome);
      failures += fails ? 1 : 0;
      fmt::print("{}\t{}\t{}\t{:.4f}\t{:.4g}\t{:.4g}\t{}{}\n", study.name, outcome.setting,
                 outcome.quantity, outcome.rate, outcome.at_least, outcome.at_most, outcome.trials,
                 fails ? "\tBROKEN" : "");
    }
  }
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace rdmabench::inline v1::statistics

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  const bool test = std::erase(names, "--test") > 0;
  return rdmabench::statistics::run(names, test);
}

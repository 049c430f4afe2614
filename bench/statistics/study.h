// One question that a simulation answers: how often a rule of ours is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1::statistics {

/// What a study found. `rate` is compared with the bounds by the test, which runs fewer trials.
struct Outcome {
  std::string setting;   ///< "noise between runs 2 %, 24 rows, at the limit"
  std::string quantity;  ///< "false FAIL"
  double rate = 0;       ///< share of the trials
  double at_least = 0;   ///< what docs/statistics.md promises
  double at_most = 1;
  std::uint64_t trials = 0;
};

inline double rate(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// The same seed gives the same outcomes: docs/statistics.md repeats them.
struct Study {
  std::string_view name;
  std::string_view question;
  std::vector<Outcome> (*run)(std::uint64_t trials, std::uint64_t seed);
  std::uint64_t trials;       ///< of the table in docs/statistics.md
  std::uint64_t test_trials;  ///< of the test, in milliseconds
};

}  // namespace rdmabench::inline v1::statistics

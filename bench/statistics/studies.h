// Every study is a row.
#pragma once

#include <array>

#include "study.h"

namespace rdmabench::inline v1::statistics {

std::vector<Outcome> attribution(std::uint64_t trials, std::uint64_t seed);  // attribution.cc
std::vector<Outcome> baseline(std::uint64_t trials, std::uint64_t seed);     // compare.cc
std::vector<Outcome> compare(std::uint64_t trials, std::uint64_t seed);      // compare.cc
std::vector<Outcome> decide(std::uint64_t trials, std::uint64_t seed);       // decide.cc
std::vector<Outcome> intervals(std::uint64_t trials, std::uint64_t seed);    // intervals.cc
std::vector<Outcome> gates(std::uint64_t trials, std::uint64_t seed);        // gates.cc
std::vector<Outcome> stopping(std::uint64_t trials, std::uint64_t seed);     // stopping.cc
std::vector<Outcome> knee(std::uint64_t trials, std::uint64_t seed);         // knee.cc

inline constexpr std::array kStudies{
    Study{"attribution", "how often fabric names the planted fault and no other", attribution, 200,
          8},
    Study{"compare", "how often compare's verdict is wrong", compare, 5000, 500},
    Study{"baseline", "how often an unchanged system is a regression", baseline, 500, 50},
    Study{"decide", "how often decide says YES where A is not worth it", decide, 2000, 100},
    Study{"intervals", "how often an interval of launches has the true median", intervals, 10'000,
          500},
    Study{"gates", "how often a limit fails or passes what is at the limit", gates, 10'000, 100},
    Study{"stopping", "how often the interval that ended a run has the true value", stopping,
          10'000, 500},
    Study{"knee", "how often a knee that is called reliable is at the wrong load", knee, 20'000,
          500},
};

}  // namespace rdmabench::inline v1::statistics

// Every study is a row.
#pragma once

#include <array>

#include "study.h"

namespace rdmabench::statistics {

std::vector<Outcome> intervals(std::uint64_t trials, std::uint64_t seed);  // intervals.cc
std::vector<Outcome> gates(std::uint64_t trials, std::uint64_t seed);      // gates.cc

constexpr std::array kStudies{
    Study{"intervals", "how often an interval of launches has the true median", intervals, 10'000,
          500},
    Study{"gates", "how often a limit fails or passes what is at the limit", gates, 10'000, 100},
};

}  // namespace rdmabench::statistics

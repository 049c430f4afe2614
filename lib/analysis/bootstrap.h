// The bootstrap of a difference of means.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rdmabench::analysis {

/// The bootstrapped values of (difference of the resample - difference) / its standard error,
/// sorted. Each resample draws whole units with replacement. Needs two units and some noise on each
/// side.
std::vector<double> bootstrap_pivots(std::span<const double> a, std::span<const double> b,
                                     std::uint32_t resamples, std::uint64_t seed);

}  // namespace rdmabench::analysis

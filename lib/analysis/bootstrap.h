// The bootstrap of a difference of means.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rdmabench::analysis {

/// (difference of the resample - difference) / its standard error, of `resamples` draws of whole
/// units with replacement, sorted. At least two units and some noise on each side.
std::vector<double> bootstrap_pivots(std::span<const double> a, std::span<const double> b,
                                     std::uint32_t resamples, std::uint64_t seed);

}  // namespace rdmabench::analysis

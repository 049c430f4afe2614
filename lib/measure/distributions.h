// Distributions for tests and intervals. Kept in one file, because Boost.Math compiles slowly.
#pragma once

#include <cstdint>
#include <optional>

namespace rdmabench::inline v1::measure {

/// Student's t. `degrees` > 0, may be fractional; 0 < p < 1. An infinite t is allowed.
double t_below(double t, double degrees);     ///< P(T <= t)
double t_quantile(double p, double degrees);  ///< its inverse

double normal_below(double z);     ///< P(Z <= z)
double normal_quantile(double p);  ///< its inverse

/// Quantile of the chi-square distribution. `degrees` > 0, 0 < p < 1.
double chi_squared_quantile(double p, double degrees);

/// The largest k with P(B <= k) <= tail, for the number B of successes in `trials` trials; nothing
/// where even P(B = 0) is greater. 0 < success < 1, 0 < tail < 0.5.
std::optional<std::uint64_t> binomial_rank(std::uint64_t trials, double success, double tail);

}  // namespace rdmabench::inline v1::measure

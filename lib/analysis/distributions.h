// Distributions for tests and intervals. Kept in one file, because Boost.Math compiles slowly.
#pragma once

namespace rdmabench::analysis {

/// Student's t. `degrees` > 0, may be fractional; 0 < p < 1. An infinite t is allowed.
double t_below(double t, double degrees);     ///< P(T <= t)
double t_quantile(double p, double degrees);  ///< its inverse

double normal_below(double z);  ///< P(Z <= z)

/// Quantile of the chi-square distribution. `degrees` > 0, 0 < p < 1.
double chi_squared_quantile(double p, double degrees);

}  // namespace rdmabench::analysis

// The distributions that tests and intervals are made of. One file, because Boost.Math compiles
// slowly.
#pragma once

namespace rdmabench::analysis {

/// Student's t. `degrees` > 0, whole or not; 0 < p < 1. An infinite t is allowed.
double t_below(double t, double degrees);     ///< P(T <= t)
double t_quantile(double p, double degrees);  ///< its inverse

double normal_below(double z);  ///< P(Z <= z)

/// Of the sum of `degrees` squared normal values. 0 < p < 1.
double chi_squared_quantile(double p, double degrees);

}  // namespace rdmabench::analysis

#include "measure/distributions.h"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace rdmabench::inline v1::measure {
namespace {

namespace bm = boost::math;
// long double would take ten times as long, and its digits are never printed. Boost adds the first
// to the second inside: written so from the start there is one copy of its functions, not two.
using Policy =
    bm::policies::policy<bm::policies::promote_float<false>, bm::policies::promote_double<false>>;

}  // namespace

double t_below(double t, double degrees) {
  if (std::isinf(t)) return t > 0 ? 1 : 0;
  return bm::cdf(bm::students_t_distribution<double, Policy>(degrees), t);
}

double t_quantile(double p, double degrees) {
  return bm::quantile(bm::students_t_distribution<double, Policy>(degrees), p);
}

double normal_below(double z) {
  if (std::isinf(z)) return z > 0 ? 1 : 0;
  return bm::cdf(bm::normal_distribution<double, Policy>(), z);
}

double normal_quantile(double p) {
  return bm::quantile(bm::normal_distribution<double, Policy>(), p);
}

double chi_squared_quantile(double p, double degrees) {
  return bm::quantile(bm::chi_squared_distribution<double, Policy>(degrees), p);
}

std::optional<std::uint64_t> binomial_rank(std::uint64_t trials, double success, double tail) {
  const bm::binomial_distribution<double, Policy> successes(static_cast<double>(trials), success);
  if (bm::cdf(successes, 0) > tail) return std::nullopt;
  // Quantiles below the median are rounded down, so that the tail is kept.
  return static_cast<std::uint64_t>(bm::quantile(successes, tail));
}

}  // namespace rdmabench::inline v1::measure

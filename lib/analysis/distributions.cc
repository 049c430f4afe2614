#include "distributions.h"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace rdmabench::analysis {
namespace {

namespace bm = boost::math;
// long double would take ten times as long, and its digits are never printed.
using Policy = bm::policies::policy<bm::policies::promote_double<false>>;

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

double chi_squared_quantile(double p, double degrees) {
  return bm::quantile(bm::chi_squared_distribution<double, Policy>(degrees), p);
}

}  // namespace rdmabench::analysis

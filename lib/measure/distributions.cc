#include "measure/distributions.h"

#include <algorithm>
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

// Boost's inverses would be 60 kB more of every program that measures: the distribution itself is
// enough here, and for binomial_rank().
double t_quantile(double p, double degrees) {
  const bm::students_t_distribution<double, Policy> t(degrees);
  const double tail = std::min(p, 1 - p);
  // Newton's method. From the middle outwards the density falls, so that no step goes too far.
  double quantile = 0;
  for (double next = quantile;; quantile = next) {
    next += (bm::cdf(bm::complement(t, quantile)) - tail) / bm::pdf(t, quantile);
    if (!(next > quantile)) return p < 0.5 ? -quantile : quantile;
  }
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
  const auto rare = [&](std::uint64_t k) {
    return bm::cdf(successes, static_cast<double>(k)) <= tail;
  };
  if (!rare(0)) return std::nullopt;
  // The median is less than one away from the mean; from there downwards by standard deviations.
  auto above = static_cast<std::uint64_t>(std::ceil(bm::mean(successes)));
  // At least one: where `success` is rounded to 1, the deviation is none.
  const auto step =
      static_cast<std::uint64_t>(std::max(1.0, std::ceil(bm::standard_deviation(successes))));
  std::uint64_t rank = above - std::min(above, step);
  while (!rare(rank)) {
    above = rank;
    rank -= std::min(rank, step);
  }
  while (above - rank > 1) {
    const std::uint64_t middle = rank + (above - rank) / 2;
    (rare(middle) ? rank : above) = middle;
  }
  return rank;
}

}  // namespace rdmabench::inline v1::measure

#include "bootstrap.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "rdmabench/measure/statistics.h"

namespace rdmabench::analysis {
namespace {

struct Moments {
  double mean = 0;
  double error = 0;  ///< squared standard error of the mean
};

Moments moments(std::span<const double> values) {
  const double deviation = measure::stddev(values);
  return {measure::mean(values), deviation * deviation / static_cast<double>(values.size())};
}

/// std::uniform_int_distribution may differ between standard libraries; a recorded seed must give
/// the same draws everywhere. The modulo bias is below 2^-50 here.
void draw(std::span<const double> from, std::vector<double>& to, std::mt19937_64& random) {
  to.resize(from.size());
  for (double& value : to) value = from[random() % from.size()];
}

}  // namespace

std::vector<double> bootstrap_pivots(std::span<const double> a, std::span<const double> b,
                                     std::uint32_t resamples, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double difference = moments(b).mean - moments(a).mean;
  std::vector<double> pivots;
  pivots.reserve(resamples);
  std::vector<double> drawn;
  while (pivots.size() < resamples) {
    draw(a, drawn, random);
    const Moments of_a = moments(drawn);
    draw(b, drawn, random);
    const Moments of_b = moments(drawn);
    const double error = std::sqrt(of_a.error + of_b.error);
    if (error == 0) continue;  // a single unit was drawn each time: undefined
    pivots.push_back((of_b.mean - of_a.mean - difference) / error);
  }
  std::sort(pivots.begin(), pivots.end());
  return pivots;
}

}  // namespace rdmabench::analysis

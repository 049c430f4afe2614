#include "analysis/power.h"

#include <algorithm>
#include <cmath>

#include "measure/distributions.h"

namespace rdmabench::inline v1::analysis {
namespace {

/// The chance of a proof, given the ratio of the sample's deviation to the true one.
double power_given(const PowerQuestion& question, double error, double t, double relative) {
  const double margin = std::log1p(question.margin);
  const double difference = std::abs(question.difference);
  const double needed = t * relative;
  if (difference > margin) return measure::normal_below((difference - margin) / error - needed);
  const double upper = (margin - difference) / error - needed;
  const double lower = -(margin + difference) / error + needed;
  return upper > lower ? measure::normal_below(upper) - measure::normal_below(lower) : 0;
}

}  // namespace

double log_deviation(double coefficient_of_variation) {
  return std::sqrt(std::log1p(coefficient_of_variation * coefficient_of_variation));
}

double power_of(const PowerQuestion& question, std::uint32_t launches) {
  if (question.deviation <= 0) {
    return std::abs(question.difference) == std::log1p(question.margin) ? 0 : 1;
  }
  const double degrees = 2.0 * launches - 2;
  const double error = question.deviation * std::sqrt(2.0 / launches);
  const double t = measure::t_quantile(1 - question.alpha, degrees);
  constexpr double kMany = 400;  // above it the sample's deviation is taken as exact
  if (degrees > kMany) return power_given(question, error, t, 1);
  // Averages over the sampling distribution of the deviation, by its quantiles.
  constexpr int kSteps = 100;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double p = (i + 0.5) / kSteps;
    sum += power_given(question, error, t,
                       std::sqrt(measure::chi_squared_quantile(p, degrees) / degrees));
  }
  return sum / kSteps;
}

std::optional<std::uint32_t> launches_needed(const PowerQuestion& question) {
  const auto enough = [&](std::uint32_t launches) {
    return power_of(question, launches) >= question.power;
  };
  std::uint32_t high = 2;
  while (!enough(high)) {
    if (high >= kMostLaunches) return std::nullopt;
    high = std::min(high * 2, kMostLaunches);
  }
  std::uint32_t low = high / 2;  // too few, or 1
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

double welch_degrees(const std::vector<VariancePart>& parts) {
  double sum = 0;
  double squares = 0;
  double all = 0;
  for (const VariancePart& part : parts) {
    sum += part.variance;
    squares += part.variance * part.variance / part.degrees;
    all += part.degrees;
  }
  return squares > 0 ? sum * sum / squares : all;  // without noise any number will do
}

}  // namespace rdmabench::inline v1::analysis

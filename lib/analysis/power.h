// How many launches a verdict needs, to plan machine time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rdmabench::inline v1::analysis {

/// The assumptions of a planned comparison.
struct PowerQuestion {
  double deviation = 0;   ///< of the log of a launch's value, about its CV if small; >= 0
  double difference = 0;  ///< the true difference of logs; 0: none
  double margin = 0.05;   ///< a ratio, as in Settings
  double alpha = 0.05;
  double power = 0.9;  ///< target of launches_needed()
};

/// The standard deviation of the log of a log-normal value with this coefficient of variation.
double log_deviation(double coefficient_of_variation);

/// The chance that `launches` (>= 2) of each side prove the true state: that the difference is
/// within the margin, or beyond it. Assumes equal normal noise on both sides; pooled t. Source:
/// Phillips 1990.
double power_of(const PowerQuestion& question, std::uint32_t launches);

/// The upper limit of the search.
inline constexpr std::uint32_t kMostLaunches = 10'000;

/// The fewest launches of each side, at least 2, that reach the power; none if more than
/// kMostLaunches. Does not apply kMinLaunches.
std::optional<std::uint32_t> launches_needed(const PowerQuestion& question);

/// A variance (of a mean) and the degrees of freedom it was estimated with.
struct VariancePart {
  double variance = 0;
  double degrees = 1;
};

/// Degrees of freedom of a sum of independent variances. Sources: Satterthwaite 1946, Welch 1947.
double welch_degrees(const std::vector<VariancePart>& parts);

}  // namespace rdmabench::inline v1::analysis

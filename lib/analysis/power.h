// How many launches a verdict takes: to be known before the machines are booked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rdmabench::analysis {

/// What a comparison is to be planned for.
struct PowerQuestion {
  double deviation = 0;  ///< of the log of a launch's value; for small ones, the launches' CV; >= 0
  double difference = 0;  ///< the true one, of logs; 0: the two are the same
  double margin = 0.05;   ///< a ratio, as in Settings
  double alpha = 0.05;
  double power = 0.9;  ///< what launches_needed() is to reach
};

/// The standard deviation of the log of a value with this coefficient of variation, as if it were
/// log-normal.
double log_deviation(double coefficient_of_variation);

/// The chance that `launches` (>= 2) of each side prove what is true: that the difference is within
/// the margin, or beyond it. Normal noise, the same on both sides, pooled t. Source: Phillips 1990.
double power_of(const PowerQuestion& question, std::uint32_t launches);

/// More than these are not planned for.
inline constexpr std::uint32_t kMostLaunches = 10'000;

/// The fewest launches of each side, at least 2, that reach the power; none if kMostLaunches do
/// not. It knows nothing of kFewestLaunches.
std::optional<std::uint32_t> launches_needed(const PowerQuestion& question);

/// A variance (of a mean) and the degrees of freedom it was estimated with.
struct VariancePart {
  double variance = 0;
  double degrees = 1;
};

/// Degrees of freedom of a sum of independent variances. Sources: Satterthwaite 1946, Welch 1947.
double welch_degrees(const std::vector<VariancePart>& parts);

}  // namespace rdmabench::analysis

// What a comparison will cost, before it is run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rdmabench/analysis/comparison.h"

namespace rdmabench::analysis {

/// One quantity's need.
struct PlannedQuantity {
  std::string what;      ///< "write bandwidth of 64K"
  double variation = 0;  ///< standard deviation of the launches' logs
  std::optional<std::uint32_t>
      launches;  ///< of each side, at least kFewestLaunches; none: too many
};

struct Plan {
  Settings settings;
  double difference = 0;  ///< the assumed true one, a ratio: 0.01 is 1 %
  std::uint32_t pilot_launches = 0;
  std::vector<PlannedQuantity> quantities;
  std::optional<std::uint32_t> launches;  ///< the largest need
  std::vector<std::string> notes;
};

/// From a coefficient of variation between launches, > 0. Throws Error(usage) for a value out of
/// range.
Plan plan_for(double variation, double difference, const Settings& settings);

/// From the launches of one side; at least 2 for each quantity. Throws Error(usage).
Plan plan_from(const std::vector<Launch>& pilot, double difference,
               const ComparisonOptions& options);

std::string to_table(const Plan& plan);

/// A document with the schema "rdmabench-compare/1" and "plan" instead of families.
std::string to_json(const Plan& plan);

}  // namespace rdmabench::analysis

// What an agent measures: one order, on all its rails and against all targets at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "messages.h"
#include "rdmabench/run/config.h"

namespace rdmabench::fabric {

/// Payload, and of how many measurements.
struct Moved {
  double bytes = 0;
  std::uint32_t measurements = 0;
};

struct Measured {
  std::vector<Measurement> cells{};
  std::map<std::string, Moved> moved{};  ///< by the device that the endpoints named
};

/// A cell for each target, rail, metric and size of a checked order; failed cells have an error.
/// Latency is measured first on all rails together, then bandwidth. Returns within step_limit().
Measured run_measure_order(const MeasureOrder& order, const FabricPlan& plan,
                           const run::Config& base);

}  // namespace rdmabench::fabric

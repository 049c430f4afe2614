// What an agent measures: one order, on all its rails and against all targets at once.
#pragma once

#include <vector>

#include "messages.h"
#include "rdmabench/run/config.h"

namespace rdmabench::fabric {

/// A cell for each target, rail, metric and size of a checked order; failed cells have an error.
/// Latency is measured first on all rails together, then bandwidth. Returns within step_limit().
std::vector<Measurement> run_measure_order(const MeasureOrder& order, const FabricPlan& plan,
                                           const run::Config& base);

}  // namespace rdmabench::fabric

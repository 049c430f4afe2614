// An agent's measuring: one order, all its rails and targets at once.
#pragma once

#include <vector>

#include "messages.h"
#include "rdmabench/run/config.h"

namespace rdmabench::fabric {

/// A cell for each target, rail, metric and size of a checked order; what cannot be measured says
/// why. Latency goes first on all rails together, then bandwidth. Returns within step_limit().
std::vector<Measurement> run_measure_order(const MeasureOrder& order, const FabricPlan& plan,
                                           const run::Config& base);

}  // namespace rdmabench::fabric

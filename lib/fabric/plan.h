// What follows from a plan: its cells and limits, and the configurations that run/ takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "rdmabench/fabric/matrix.h"
#include "rdmabench/run/config.h"

namespace rdmabench::fabric {

/// Rails of every node: at least one, for without a name each node chooses.
std::uint32_t rails_of(const FabricPlan& plan) noexcept;

/// Cells of one ordered pair: rails times sizes, of both metrics.
std::size_t cells_of(const FabricPlan& plan) noexcept;

/// As long as the longest order can take where every wait of it ends in time: set-up of each
/// metric, and for each size its duration and one wait.
std::chrono::nanoseconds step_limit(const FabricPlan& plan);

/// One metric of one rail. `base` holds what is each node's own affair: queues, path, memory, CPUs.
/// Throws Error(usage) for an operation or a transport that is none.
run::Config config_of(const FabricPlan& plan, const run::Config& base, Metric metric,
                      std::uint32_t rail);

}  // namespace rdmabench::fabric

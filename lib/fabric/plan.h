// What follows from a plan: its cells and limits, and the configurations that run/ takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "rdmabench/fabric/matrix.h"
#include "rdmabench/run/config.h"
#include "report/carried.h"

namespace rdmabench::inline v1::fabric {

/// Rails of every node: at least one; where none is named, each node chooses its device.
std::uint32_t rails_of(const FabricPlan& plan) noexcept;

/// Cells of one ordered pair: rails times sizes, of both metrics.
std::size_t cells_of(const FabricPlan& plan) noexcept;

/// The way of the payload at the initiator, by which its devices are asked what they carried.
report::Flow flow_of(const FabricPlan& plan);

/// The longest time an order can take if no wait of it times out: set-up of each metric, and for
/// each size its duration and one wait.
std::chrono::nanoseconds step_limit(const FabricPlan& plan);

/// The configuration of one metric and rail. `base` has the node's own options: queues, path,
/// memory, CPUs. Throws Error(usage) for an unknown operation or transport.
run::Config config_of(const FabricPlan& plan, const run::Config& base, Metric metric,
                      std::uint32_t rail);

}  // namespace rdmabench::inline v1::fabric

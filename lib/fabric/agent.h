// The agent of a node: it serves its peers and measures against them when told to.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "messages.h"
#include "rdmabench/control/rendezvous.h"
#include "rdmabench/fabric/matrix.h"
#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::fabric {

struct AgentOptions {
  std::uint32_t rank = 0;
  std::uint32_t size = 2;
  std::string host{};  ///< the name of this node in reports
  /// Options of this node alone: queues, path, memory, CPUs. The plan has the rest.
  run::Config base{};
  /// The coordinator asks every few seconds; after this long without a message it is considered
  /// dead.
  std::chrono::nanoseconds patience = std::chrono::minutes(2);
  std::string root = "/";  ///< contains the sys and proc whose counters are read
};

struct AgentEnd {
  std::string left_early{};
  bool last = false;  ///< of RankOutcome
};

/// Connects to the coordinator and carries out its orders until it says goodbye. Each rail of the
/// plan is served on a free port by a run::Server in a thread of its own for the whole run.
/// Measurements run beside the thread that answers the coordinator, one for each rail and target.
///
/// It opens and connects only what the plan and the orders say; they are checked first. It left
/// early, with the reason, where the coordinator did not say goodbye: the coordinator
/// dropped it, or this node could not take part and has told the coordinator so. Throws Error: no
/// coordinator at any address, it is gone or was silent for `patience`, at the start `timeout`
/// more.
AgentEnd run_agent(const AgentOptions& options, const control::BootstrapAddress& coordinator,
                   std::chrono::nanoseconds timeout);

/// Payload, and of how many measurements.
struct TransferredBytes {
  double bytes = 0;
  std::uint32_t measurements = 0;
};

struct Measured {
  std::vector<Measurement> cells{};
  std::map<std::string, TransferredBytes>
      transferred{};  ///< by the device that the endpoints named
};

/// A cell for each target, rail, metric and size of a checked order; failed cells have an error.
/// Latency is measured first on all rails together, then bandwidth. Returns within step_limit().
Measured run_measure_order(const MeasureOrder& order, const FabricPlan& plan,
                           const run::Config& base);

}  // namespace rdmabench::inline v1::fabric

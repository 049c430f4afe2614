// The resident process of a node: serves its peers, and measures against them when told to.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rdmabench/control/channel.h"
#include "rdmabench/fabric/matrix.h"
#include "rdmabench/run/config.h"

namespace rdmabench::fabric {

struct AgentOptions {
  std::uint32_t rank = 0;
  std::uint32_t size = 2;
  std::string host{};   ///< what people call this node
  std::string token{};  ///< of the run
  /// What is this node's own affair: queues, path, memory, CPUs. The plan has the rest.
  run::Config base{};
  /// The coordinator asks every few seconds; without a word for so long it is gone.
  std::chrono::nanoseconds patience = std::chrono::minutes(2);
};

/// Reaches the coordinator at one of `addresses` (numeric, tried in turn) and obeys it until it
/// says goodbye. Each rail of the plan is served on a free port by a run::Server in threads of its
/// own, which stay up for the whole run; measurements run beside the thread that answers the
/// coordinator, one for each rail and target.
///
/// It opens nothing and connects to nobody but by the plan and the orders, which are checked first.
/// Returns "" when it was sent home, and otherwise why it left before the end: the coordinator let
/// it go, or this node could not take part and has told the coordinator so. Throws Error: no
/// coordinator at any address, it is gone or was silent for `patience`.
std::string run_agent(const AgentOptions& options, const std::vector<std::string>& addresses,
                      std::uint16_t port, std::chrono::nanoseconds timeout);

}  // namespace rdmabench::fabric

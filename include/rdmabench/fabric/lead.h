// A whole run, from the first agent to the verdict: what the process of rank 0 does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "rdmabench/control/listener.h"
#include "rdmabench/fabric/attribution.h"
#include "rdmabench/fabric/coordinator.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::fabric {

struct LeadOptions {
  FabricPlan plan{};
  std::uint32_t size = 2;  ///< ranks, this one's own agent among them
  std::string token{};     ///< see BootstrapAddress
  std::string output{};    ///< file of the stream; "" = none
  std::string resume{};    ///< go on with this file, in it; "" = begin
  std::chrono::nanoseconds wait = std::chrono::seconds(60);  ///< for all ranks to come
  bool confirm = true;  ///< measure again what stands out, and judge by that
  CoordinatorOptions coordinator{};
};

/// After each round; `of` counts those that are known by then.
struct LeadProgress {
  std::uint32_t round = 0;
  std::uint32_t of = 0;
  std::uint32_t alive = 0;
  bool confirming = false;
};

struct FabricResult {
  Matrix matrix{};
  std::vector<RoundCost> costs{};
  Attribution verdict{};
};

/// Lets the agents in, runs the rounds of the plan, confirms what stands out and sends them home.
/// The stream holds every finished round, whatever happens in a later one.
///
/// Throws Error(usage) for a plan that cannot be or a file that is not of this run, Error(failed)
/// when the stream cannot be written. Lost nodes are results. Thread rule: one thread.
FabricResult lead(const LeadOptions& options, control::Listener& listener,
                  const std::function<void(const LeadProgress&)>& on_progress = {});

}  // namespace rdmabench::fabric

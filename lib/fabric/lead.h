// The coordinator's run: admits the agents, measures, confirms, judges.
#pragma once

#include <cstdint>
#include <string>

#include "rdmabench/control/listener.h"
#include "rdmabench/fabric/run.h"

namespace rdmabench::fabric {

/// Admits the agents of `size` ranks that have the token, runs the rounds of the plan, confirms
/// what stands out and says goodbye. Throws Error as run() does.
FabricResult lead(const FabricOptions& options, std::uint32_t size, const std::string& token,
                  control::Listener& listener, const OnFabricProgress& on_progress = {});

}  // namespace rdmabench::fabric

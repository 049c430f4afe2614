// The coordinator's run: checks what it is told, admits the agents, measures, confirms, judges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/schedule.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/fabric/run.h"

namespace rdmabench::fabric {

/// What rank 0 knows before any other rank is there.
struct Prepared {
  std::uint32_t size = 0;  ///< ranks
  std::vector<Round> rounds{};
  std::optional<Matrix> earlier{};  ///< of the run that is to go on
  std::optional<Topology> topology{};
};

/// Throws Error(usage) for what is wrong whoever comes: the plan, the number of ranks, a file that
/// is not of this run or cannot be written.
Prepared prepare(const FabricOptions& options, std::uint32_t size);

/// Admits the agents of all ranks that have the token, runs the rounds of the plan, confirms what
/// stands out and says goodbye. Throws Error as run() does.
FabricResult lead(const FabricOptions& options, Prepared prepared, const std::string& token,
                  control::Listener& listener, const OnFabricProgress& on_progress = {});

}  // namespace rdmabench::fabric

// The coordinator's run: checks what it is told, admits the agents, measures, confirms, judges.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "fabric/coordinator.h"
#include "fabric/schedule.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/fabric/matrix.h"
#include "rdmabench/fabric/run.h"

namespace rdmabench::inline v1::fabric {

/// The wanted measurements as rounds in whose steps each node takes part once. All rails of a pair
/// are measured together, as in the screening.
std::vector<Round> rounds_of(const std::vector<Confirmation>& wanted);

/// Repeats confirming rounds and attribution until nothing is open. `number` is the number of the
/// next round and is advanced; `done` is called after each. `stop` ends it before the next round.
Attribution confirm(Coordinator& coordinator, std::uint32_t& number,
                    const ConfirmationOptions& options, const Topology* topology,
                    const std::function<void()>& done, const std::stop_token& stop = {});

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

/// Admits the agents of all ranks that have the run id, runs the rounds of the plan, confirms what
/// stands out and says goodbye. `host_of` is that of control::AdmissionRules. Throws Error as run()
/// does.
FabricResult lead(const FabricOptions& options, Prepared prepared, const std::string& run_id,
                  control::Listener& listener, const OnFabricProgress& on_progress = {},
                  const std::function<std::string(std::uint32_t)>& host_of = {});

}  // namespace rdmabench::inline v1::fabric

// From findings to the rounds that confirm them.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "fabric/coordinator.h"
#include "fabric/schedule.h"
#include "rdmabench/fabric/attribution.h"

namespace rdmabench::fabric {

/// The wanted measurements as rounds in whose steps each node takes part once. All rails of a pair
/// are measured together, as in the screening.
std::vector<Round> rounds_of(const std::vector<Confirmation>& wanted);

/// Repeats confirming rounds and attribution until nothing is open. `number` is the number of the
/// next round and is advanced; `done` is called after each. `stop` ends it before the next round.
Attribution confirm(Coordinator& coordinator, std::uint32_t& number,
                    const ConfirmationOptions& options, const Topology* topology,
                    const std::function<void()>& done, const std::stop_token& stop = {});

}  // namespace rdmabench::fabric

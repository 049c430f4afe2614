// From findings to the rounds that bear them out.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fabric/coordinator.h"
#include "fabric/schedule.h"
#include "rdmabench/fabric/attribution.h"

namespace rdmabench::fabric {

/// The wanted measurements as rounds in which each step has a node once. All rails of a pair go
/// together, as they did when it was found slow.
std::vector<Round> rounds_of(const std::vector<Confirmation>& wanted);

/// Measures what attribution wants to know and judges again, until nothing is open. `number` is of
/// the next round, and is counted on; `done` is told after each.
Attribution confirm(Coordinator& coordinator, std::uint32_t& number,
                    const ConfirmationOptions& options, const std::function<void()>& done);

}  // namespace rdmabench::fabric

// Which ranks write into whose memory at once, and in which memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {

/// The pairs `{from, to}` of each round: neighbours of the ring of ranks, no rank as initiator or
/// target twice in a round. None for one rank.
std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> point_to_point_rounds(
    std::uint32_t ranks);

/// The pair that `measure` gives for the memory of its two sides, or with host_instead, where that
/// has an error or was staged, for host memory; then its route says why. What was staged and stays
/// so is labelled in its route.
PointToPointResult measure_in(
    const std::string& memory, const std::string& peer_memory, bool host_instead,
    const std::function<PointToPointResult(const std::string& memory,
                                           const std::string& peer_memory)>& measure);

}  // namespace rdmabench::inline v1::collective

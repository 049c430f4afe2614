// Which device carried the bytes of a run, by the devices' own counters.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

enum class Flow : std::uint8_t { sent, received };

/// "sent", "received".
std::string_view name(Flow flow) noexcept;

struct Counted {
  double bytes = 0;
  bool at_least = false;  ///< a counter stands at its end, and may have missed more
};

/// What the devices of one node counted, by device; a port is its device.
using CountedBytes = std::map<std::string, Counted>;

/// Adds what a device counted at one more place, or to another program of its node.
void add_counted(CountedBytes& counted, const std::string& device, double bytes, bool at_least);

/// Adds counters of the node. Its programs see the same ones, and one device may count at two
/// places: the largest counts, and one that is not at its end is sure.
void add_counted(CountedBytes& counted, std::span<const Counter> counters, Flow flow);

/// Below this share of what had to be carried, a device did not carry it. Half, because switches
/// that reduce halve an all-reduce's traffic.
inline constexpr double kCarriedShare = 0.5;

/// Judges whether `device` carried `needed` bytes: OPEN where its counter is at its end, FAIL too
/// where it has none. `where`: the end of the sentence that says what it carried.
void judge_carried(RequirementFinding& finding, const CountedBytes& counted,
                   const std::string& device, double needed, Flow flow, std::string_view where);

/// "1010 MB", of 1e6 bytes.
std::string megabytes(double bytes);

}  // namespace rdmabench::inline v1::report

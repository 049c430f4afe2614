// Environment variables: what their checks share. Only those of environment_names() are read, and
// each is judged by what its library does with the value (docs/doctor.md). A variable that is not
// set is a PASS, because that was observed. Private to this room.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check.h"
#include "variables.h"

namespace rdmabench::inline v1::health {

inline constexpr std::string_view kEnvironment = "environment";

/// False, with the finding SKIP, if the environment was not read.
bool looked(Probe& probe);

/// The value; none, with a verdict, if it is not set or was not read.
std::optional<std::string> value(Probe& probe, std::string_view name, std::string expected);

/// Appends what is wrong to what was observed, and warns.
void blame(Probe& probe, std::string_view name, std::string_view text, std::string_view fault);

void add_to(std::string& list, std::string_view text);

bool same_letters(std::string_view first, std::string_view second);

using Takes = std::function<bool(const RdmaPort&)>;

/// What a list says of a card whose one port is behind several PCIe links: "" unless it has one
/// half and not the other.
std::string missing_halves(Probe& probe, const Takes& takes);

/// Every active RoCE port that `takes` has: what is wrong with the entry that `index` chooses.
void judge_gids(Probe& probe, const std::string& said, const Takes& takes,
                const std::function<std::uint64_t(const std::vector<Gid>&)>& index);

}  // namespace rdmabench::inline v1::health

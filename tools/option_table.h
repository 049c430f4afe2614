// The options of `rdmabench lat`, `bw` and `load`, as a table. `rdmabench fabric` has some of them.
#pragma once

#include <span>

#include "flags/flag.h"
#include "options.h"

namespace rdmabench::tools::measuring {

using Flag = tools::Flag<Options>;

/// The commands that have an option: bits of Flag::tools.
constexpr ToolSet set_of(Test test) {
  return ToolSet{1} << static_cast<unsigned>(test);
}
inline constexpr ToolSet kLat = set_of(Test::latency), kBw = set_of(Test::bandwidth),
                         kLoad = set_of(Test::load), kAll = kLat | kBw | kLoad;

/// All of them, as --help-all groups them.
std::span<const FlagGroup<Options>> groups();

/// How a connection is made, but not what is measured: queues, path and memory.
std::span<const FlagGroup<Options>> connection_groups();

}  // namespace rdmabench::tools::measuring

// How NCCL loads a profiler plugin and reports to it: by the name in NCCL_PROFILER_PLUGIN, with the
// newest table that this version of NCCL knows, and the plugin's mask of events.
#pragma once

#include <vector>

#include "communicator.h"

namespace fake_nccl {

/// Loads the plugin at the first call, as ncclCommInitRankConfig does, and announces the
/// communicator to it. Does nothing without a plugin.
void init_profiler(Communicator& comm);
void finalize_profiler(Communicator& comm);

/// The plugin's current mask of events; 0 without one.
int profiler_mask();

/// Reports a launch as NCCL does when it gives it to its proxy, by the mask at the time of the
/// call.
void tell_profiler(const Communicator& comm, const std::vector<Operation>& operations, int mask);

}  // namespace fake_nccl

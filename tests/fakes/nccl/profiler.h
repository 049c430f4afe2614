// How NCCL loads a profiler plugin and tells it: by the name in NCCL_PROFILER_PLUGIN, the newest
// table that this version of NCCL knows, and the plugin's own mask of events.
#pragma once

#include <vector>

#include "communicator.h"

namespace fake_nccl {

/// Loads the plugin at the first call, as ncclCommInitRankConfig does, and makes it known to the
/// communicator. Without one nothing happens.
void init_profiler(Communicator& comm);
void finalize_profiler(Communicator& comm);

/// The events that the plugin asks for now; 0 without one.
int profiler_mask();

/// What NCCL tells of one launch when it gives it to its proxy, by the mask at the time of the
/// call.
void tell_profiler(const Communicator& comm, const std::vector<Operation>& operations, int mask);

}  // namespace fake_nccl

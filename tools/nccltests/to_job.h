// From a command line of nccl-tests to a run, and from its results to nccl-tests' table.
#pragma once

#include <vector>

#include "../coll_job.h"
#include "flags.h"
#include "rdmabench/report/nccl_tests.h"
#include "tool.h"

namespace rdmabench::tools::nccltests {

/// The calls of a run among `ranks`, in nccl-tests' order: by type, reduction, root and size, out
/// of place before in place. Counts of what all ranks have a part of are whole multiples of 16
/// bytes, as there, but never 0.
std::vector<collective::Call> calls(const Tool& tool, const Flags& flags, std::uint32_t ranks);

/// Without `write`, and without a launch of ranks.
CollJob to_job(const Tool& tool, const Flags& flags);

/// Two calls, in and out of place, become one row.
report::NcclTestsTable to_table(const Tool& tool, const Flags& flags, const collective::Run& run);

}  // namespace rdmabench::tools::nccltests

// From a command line of nccl-tests to a run, and from its results to nccl-tests' table.
#pragma once

#include <cstdint>
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

/// -b, -e, -f and -i as these sizes have them; a step of 0 bytes where none leads from one to the
/// next. Not empty.
void set_sizes(Flags& flags, const std::vector<std::uint64_t>& sizes);

/// Two calls of one kind and size, in and out of place, become one row. Its iterations are the
/// operations of the row that had fewest.
report::NcclTestsTable to_table(const Tool& tool, const Flags& flags, const collective::Run& run);

}  // namespace rdmabench::tools::nccltests

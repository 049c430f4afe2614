// From a command line of nccl-tests to a run, and from its results to nccl-tests' table.
#pragma once

#include <cstdint>
#include <vector>

#include "../coll_job.h"
#include "flags.h"
#include "report/nccl_tests.h"
#include "tool.h"

namespace rdmabench::inline v1::tools::nccltests {

/// The calls of a run among `ranks`, in nccl-tests' order: by type, reduction, root and size, out
/// of place before in place. For operations where each rank has one part of the data, counts are
/// whole multiples of 16 bytes, as in nccl-tests, but never 0.
std::vector<collective::Call> calls(const Tool& tool, const Flags& flags, std::uint32_t ranks);

/// The job, without `write`. It starts no ranks.
CollJob to_job(const Tool& tool, const Flags& flags);

/// Sets -b, -e, -f and -i to match `sizes`, which must not be empty. The step is 0 bytes where the
/// sizes have no constant step or factor.
void set_sizes(Flags& flags, const std::vector<std::uint64_t>& sizes);

/// The in-place and the out-of-place call of one kind and size become one row. The table's
/// iterations are those of the row with the fewest.
report::NcclTestsTable to_table(const Tool& tool, const Flags& flags, const collective::Run& run);

}  // namespace rdmabench::inline v1::tools::nccltests

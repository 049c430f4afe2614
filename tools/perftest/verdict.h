// Limits that a result must reach: perftest's -w and -y.
#pragma once

#include <string>
#include <vector>

#include "flags.h"
#include "rdmabench/report/perftest.h"

namespace rdmabench::tools::perftest {

/// A line for each size that is below a limit, in the units of `style`; and one when there is a
/// limit but nothing was measured. Every size must reach every limit: perftest is content with one.
std::vector<std::string> missed_limits(const report::Report& report, const Flags& flags,
                                       const report::PerftestStyle& style);

}  // namespace rdmabench::tools::perftest

// What is printed beside the table: counters, and limits that the result misses.
#pragma once

#include <string>
#include <vector>

#include "flags.h"
#include "report/perftest.h"

namespace rdmabench::inline v1::tools::perftest {

/// A line for each size that is below a limit, in the units of `style`; one line if there is a
/// limit but nothing was measured. Every size must reach every limit; for perftest one size is
/// enough.
std::vector<std::string> missed_limits(const report::Report& report, const Flags& flags,
                                       const report::PerftestStyle& style);

/// "\thw_counters/out_of_sequence=3" for each counter that was asked for, of this side; a counter
/// that is not in the report has "unknown" for its number. "" when none was asked for.
std::string counter_lines(const report::Report& report, const Flags& flags);

/// What may have disturbed the run, in one line: a script that reads both streams as one takes the
/// lines of the table by their place. "" of a calm run.
std::string suspicion_line(const report::Report& report);

}  // namespace rdmabench::inline v1::tools::perftest

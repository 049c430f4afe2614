// Results as ucx_perftest prints them.
#pragma once

#include <string>

#include "options.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::tools::ucx_perftest {

/// What stands above the row, of -f and -v too.
std::string heading(const Options& options);

/// The row of a run, or "". MB are 2^20 bytes, times are microseconds of half a round trip or of a
/// message. Only the whole is measured: the columns "average" have what "overall" has. The
/// percentile of a stream is not known and 0. Of several threads the row has four numbers, and the
/// iterations of one, as there. A run that was cut off has one of the rows that a second ends with,
/// and no final one.
std::string result_row(const report::Report& report, const Options& options);

}  // namespace rdmabench::inline v1::tools::ucx_perftest

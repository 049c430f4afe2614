// A report for people.
#pragma once

#include <string>

#include "rdmabench/report/result.h"

namespace rdmabench::report {

/// What was measured and over what, one line per size, then the notes, why the run is
/// suspect, and the error.
///
/// The rows fit into 100 columns. Latency is in microseconds, with no digit below the clock's
/// resolution, and
/// "-" for a percentile that the samples cannot support; bandwidth is in Gb/s (10^9 bits) and
/// MiB/s. Rows that differ in what they mean (kind, signal, completion, ...) stand in tables of
/// their own.
std::string to_table(const Report& report);

}  // namespace rdmabench::report

// A report's results as comma-separated values.
#pragma once

#include <string>

#include "rdmabench/report/result.h"

namespace rdmabench::report {

/// A line of names, the same as the JSON result's keys and last "suspect", then a line for each
/// result; each ends in CR LF. A list becomes one field, its items parted by "; "; what has no
/// value is an empty field. The environment, the configuration, the counters and an error are in
/// the JSON alone. Source: RFC 4180.
std::string to_csv(const Report& report);

}  // namespace rdmabench::report

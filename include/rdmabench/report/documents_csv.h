// Documents as comma-separated values.
#pragma once

#include <span>
#include <string>

#include "rdmabench/report/documents.h"

namespace rdmabench::report {

/// A line of names, then a line for each thing that was measured (kind latency, bandwidth, load,
/// registration or pair) or judged (kind judgement), whatever its document; each ends in CR LF. A
/// column has the unit at the end of its name, and an empty field where there is no value. A text
/// that a spreadsheet would take for a formula gets an apostrophe before it. Source: RFC 4180.
std::string to_csv(std::span<const Document> documents);

}  // namespace rdmabench::report

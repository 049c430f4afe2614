// A report as text: JSON, comma-separated values or a table.
#pragma once

#include <span>
#include <string>

#include "rdmabench/report/result.h"
#include "rdmabench/report/text_table.h"

namespace rdmabench::inline v1::report {

/// One document of docs/schema/rdmabench-1.schema.json, in UTF-8, ended by a newline.
///
/// Bytes that are not UTF-8 become U+FFFD and numbers that are not finite become null. A percentile
/// that the samples cannot support is written all the same and named in "unsupported_percentiles".
std::string to_json(const Report& report);

/// {"schema": "rdmabench/1", "documents": [...]}: the documents of several runs.
std::string to_json(std::span<const Report> reports);

/// A line of names, the same as the JSON result's keys and last "suspect", then a line for each
/// result; each ends in CR LF. A list becomes one field, its items separated by "; "; what has no
/// value is an empty field. The environment, the configuration, the counters and an error are in
/// the JSON alone. Source: RFC 4180.
std::string to_csv(const Report& report);

/// The transport, a table with one line for each size, the notes, the suspicions and the error.
///
/// The rows fit into `width` columns: what is less asked for is left out, and named. Latency is in
/// microseconds, with no digit below the clock's resolution, and "-" for a percentile that the
/// samples cannot support; bandwidth is in Gb/s (10^9 bits) and MiB/s. Rows of another kind, signal
/// or completion begin another table. What several reports have in common is written once.
/// Suspicions of one code become one line with one remedy, unless `verbose` asks for each with its
/// numbers.
///
/// Several reports are launches of the same run where they are load curves: the knee is then given
/// with the interval over the launches.
std::string to_table(std::span<const Report> reports, bool verbose = false,
                     std::size_t width = kUsualWidth);
inline std::string to_table(const Report& report) {
  return to_table(std::span(&report, 1));
}

}  // namespace rdmabench::inline v1::report

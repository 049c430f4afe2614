// Reports as JSON.
#pragma once

#include <span>
#include <string>

#include "rdmabench/report/result.h"

namespace rdmabench::report {

/// One document of docs/schema/rdmabench-1.schema.json, in UTF-8, ended by a newline.
///
/// Bytes that are not UTF-8 become U+FFFD and numbers that are not finite become null. A percentile
/// that the samples cannot support is written all the same and named in "unsupported_percentiles".
std::string to_json(const Report& report);

/// {"schema": "rdmabench/1", "documents": [...]}: the documents of several runs.
std::string to_json(std::span<const Report> reports);

}  // namespace rdmabench::report

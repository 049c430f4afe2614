// A run as text: a table, a document of rdmabench-coll/1, or CSV.
#pragma once

#include <string>

#include "rdmabench/collective/run.h"

namespace rdmabench::collective {

/// Times in microseconds, bandwidths in GB/s of 1e9 bytes. Below the table what was wrong and who
/// was late.
std::string to_table(const Run& run);

/// docs/schema/rdmabench-coll-1.schema.json, ended by a newline. Nothing in it is scaled.
std::string to_json(const Run& run);

/// A line of names and one for each row, by RFC 4180; the results' keys of the document.
std::string to_csv(const Run& run);

}  // namespace rdmabench::collective

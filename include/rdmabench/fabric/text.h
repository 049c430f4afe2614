// A run over many nodes as text: JSON Lines, a table, CSV.
#pragma once

#include <string>
#include <string_view>

#include "rdmabench/fabric/attribution.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::fabric {

/// The whole run as lines of docs/schema/rdmabench-fabric-1.schema.json, without a verdict.
std::string to_json_lines(const Matrix& matrix);
/// One line. `verdict` is a JSON object on one line, whose members the record takes over.
std::string verdict_record(std::string_view verdict);

/// Reads what was written. A second plan record begins another attempt: its measurements replace
/// those of the same cell, and only its own losses count. An incomplete last line (the writer died)
/// and records of other kinds are left out. Throws Error(usage) that names the line if this is no
/// such stream or the plans differ.
Matrix matrix_from_json_lines(std::string_view text);

/// The same from a file. Throws Error(usage) that names the file, too.
Matrix read_stream(const std::string& path);

/// What was measured, a line for each metric and size, the worst pairs, what failed and who was
/// lost; then each finding with its evidence, and what cannot be judged. Bandwidth in Gb/s (10^9
/// bits), latency in microseconds. ASCII.
std::string to_table(const Matrix& matrix, const Attribution& verdict);

/// RFC 4180, one line for each measurement, with the names of the JSON.
std::string to_csv(const Matrix& matrix);

}  // namespace rdmabench::fabric

// The tables of means that OSU's micro-benchmarks and fabtests print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run.h"

namespace rdmabench::import {

struct MeanTable {
  std::string title;    ///< "MPI Allreduce Latency"; "" of fabtests
  std::string program;  ///< "fi_rdm_pingpong", where fabtests' -M says it
  std::string name;     ///< of fabtests' rows: "min_int8_lat"
  std::string type;     ///< "MPI_CHAR"
  std::uint64_t window = 0;
  bool answers = false;  ///< fi_pingpong's column of acknowledged messages
  bool of_osu = false;   ///< by its heading
  bool has_times = false;
  std::uint64_t empty = 0;  ///< rows of 0 bytes
  bool overlaps = false;    ///< has columns of a computation in the meantime
  std::vector<std::pair<std::string, std::string>> details;
  std::vector<Row> rows;
  std::string error;
};

/// At least one. Throws Error(usage) with `source` and the line for a text without any, and for a
/// table that makes no sense.
std::vector<MeanTable> read_mean_tables(std::string_view text, const std::string& source);

}  // namespace rdmabench::import

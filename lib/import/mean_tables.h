// A table of means as OSU's micro-benchmarks and fabtests print it, and what it says of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "table.h"

namespace rdmabench::inline v1::import {

struct MeanTable {
  std::string title;      ///< "MPI Allreduce Latency"; "" of fabtests
  std::string test;       ///< as it was printed: "MPI-CUDA Allreduce Latency"
  std::string memory;     ///< "cuda, H D": of a build for GPUs, from the host to a device
  std::string heading;    ///< the line with the names of its columns
  std::string program;    ///< "fi_rdm_pingpong", where its command or fabtests' -M says it
  std::string operation;  ///< by -o of that command: "write"; "" where there is no command
  double size = 0;        ///< by -S of that command, in bytes; 0: not one size
  std::string name;       ///< of fabtests' rows: "min_int8_lat"
  std::string type;       ///< "MPI_CHAR"
  std::uint64_t window = 0;
  std::uint64_t empty = 0;  ///< rows of 0 bytes
  std::vector<std::pair<std::string, std::string>> details;
  std::vector<Row> rows;
  std::vector<std::string> notes;
  std::string error;
};

/// Whether a line names the columns of a table of OSU's.
inline bool is_osu_heading(std::string_view line) noexcept {
  return (line.starts_with("# Size") || line.starts_with("Size ")) &&
         has_any(line, {"(us)", "MB/s"});
}

/// "MPI Latency" where the source's name or `--as` is that of a program of OSU's; else "".
std::string osu_title(const Source& source);
Run osu_run(const MeanTable& table);
/// Throws Error(usage) where nothing says which program printed it.
Run fabtests_run(const MeanTable& table, const Source& source);

}  // namespace rdmabench::inline v1::import

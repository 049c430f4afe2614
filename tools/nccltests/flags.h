// What a command line of one of nccl-tests' programs asks for, and every flag of nccl-tests 2.19.6.
//
// docs/nccl-tests.md shows the table, and a test compares the two. Facts from the getopt tables of
// src/common.cu, at 2.19.6 and earlier releases.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../flags/command_line.h"
#include "rdmabench/collective/call.h"
#include "rdmabench/collective/engines.h"
#include "tool.h"

namespace rdmabench::inline v1::tools::nccltests {

/// -a: the rank whose time is printed.
enum class Average : std::uint8_t { rank_0, mean, min, max };

/// With nccl-tests' defaults.
struct Flags {
  std::uint32_t threads = 1;  ///< of a process
  std::uint32_t gpus = 1;     ///< of a thread

  std::uint64_t min_bytes = std::uint64_t{32} << 20;
  std::uint64_t max_bytes = std::uint64_t{32} << 20;
  std::uint64_t step_bytes = std::uint64_t{1} << 20;
  std::uint64_t step_factor = 1;  ///< 1: by step_bytes
  std::uint64_t iterations = 20;
  std::uint64_t warmup = 1;
  std::uint64_t cycles = 1;
  std::uint64_t check = 1;
  std::vector<collective::Reduction> reductions{collective::Reduction::sum};
  std::vector<collective::DataType> types{collective::DataType::float32};
  std::int64_t root = 0;  ///< -1: every rank in turn

  std::uint32_t blocking = 0;  ///< -z, 0..3
  std::optional<std::chrono::nanoseconds> timeout;
  std::uint64_t graph_launches = 0;
  Average average = Average::mean;
  collective::NcclOptions nccl{};
  std::string json_file;
  bool per_iteration = false;

  std::string backend = "nccl";    ///< --backend: ours
  std::vector<std::string> notes;  ///< for standard error: flags that have no effect
};

using Flag = tools::Flag<Flags>;

/// What becomes of each here.
std::span<const Flag> flags();

/// The rows as the table of docs/nccl-tests.md.
std::string to_markdown();

/// Reads the words after the program's name as read_command_line() does. Throws Error(usage): for
/// an unknown flag the text names the nearest right one, for a refused flag what to use instead.
CommandLine<Flags> parse(const Tool& tool, const std::vector<std::string>& words);

Accepted accepted(const Tool& tool);

/// The sizes of -b, -e, -i and -f, repeated -N times. Throws Error(usage) for more than 10,000.
std::vector<std::uint64_t> sizes(const Flags& flags);

}  // namespace rdmabench::inline v1::tools::nccltests

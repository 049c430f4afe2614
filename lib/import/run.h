// Runs that other tools measured.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "import/nccl_tests.h"

namespace rdmabench::inline v1::import {

/// By the keys of our results: "size_bytes", "iterations", "mean_ns", "bits_per_s", ...
using Row = std::map<std::string_view, double>;

/// Why the numbers of a run may be others than they seem.
struct Doubt {
  std::string code{};  ///< "clock", "uneven"
  std::string text{};
};

/// One between two sides. What the tool did not say is left out.
struct PairRun {
  std::string tool{};  ///< "perftest"
  std::string test{};  ///< in the tool's own words
  /// Ours; the tool's own words where it is none of ours; "unknown", then its direction and kind
  /// too.
  std::string operation{};
  std::string backend{};  ///< "verbs", "ofi", "mpi"
  std::string device{};
  std::string transport{};
  std::string memory{};  ///< "cuda", "rocm"; "": not told
  /// Of an operation that the other side takes no part in, each timed until it is done there.
  bool one_sided = false;
  bool latency = false;
  bool both_ways = false;
  std::uint64_t depth = 0;  ///< 0: not told
  std::vector<std::pair<std::string, std::string>> details{};
  std::vector<Row> rows{};
  std::string error{};
  std::vector<std::string> notes{};
  std::vector<Doubt> doubts{};
};

/// Of collective operations it is a table whose program and operation are told.
using Run = std::variant<PairRun, NcclTestsTable>;

/// The names of all tools whose output is read.
std::string known_tools();

/// Whether one of them seems to have written the text.
bool is_known(std::string_view text) noexcept;

/// Each run in the text, those of a tool together, the tools in the order of the text. `program` is
/// what printed it, where neither the text nor the file's name says so: "all_gather_perf",
/// "fi_rma_bw", with its folder or without. Throws Error(usage) with `source` and the line.
std::vector<Run> read(std::string_view text, const std::string& source, const std::string& program);

/// The program without its folder. Throws Error(usage) for one whose output is not read.
std::string checked_program(const std::string& path);

}  // namespace rdmabench::inline v1::import

// The table of nccl-tests, read from texts and JSON of many of its releases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::import {

/// One placement of one row.
struct NcclTestsCell {
  double time_us = 0;
  std::optional<double> algorithm_gb_per_s{};  ///< 10^9 bytes
  std::optional<double> bus_gb_per_s{};
  std::optional<double> wrong{};  ///< elements; none where the column says N/A, or is an older one
  struct Spread {
    std::optional<double> min_us{};
    std::optional<double> max_us{};
    std::optional<double> p99_us{};
    std::optional<double> cv_percent{};
    std::optional<double> p50_us{};  ///< in its JSON alone
    std::optional<double> stddev_us{};
  };
  std::optional<Spread> spread{};  ///< the columns of -I
};

struct NcclTestsRow {
  std::uint64_t size_bytes = 0;
  std::uint64_t count = 0;
  std::string type{};                  ///< "float"
  std::string reduction{};             ///< "sum"; "none" or "" where there is none
  std::optional<std::int64_t> root{};  ///< -1 where there is none; nothing where no column says
  std::optional<NcclTestsCell> out_of_place{};
  std::optional<NcclTestsCell> in_place{};
};

struct NcclTestsRank {
  std::uint32_t rank = 0;
  std::uint64_t pid = 0;
  std::string host{};
  std::uint32_t device = 0;
  std::string pci{};  ///< "0000:1b:00", or "0x1b" of older releases
  std::string gpu{};
};

/// What one run of one program printed.
struct NcclTestsTable {
  std::string tool = "nccl-tests";
  std::string backend = "nccl";
  std::string operation{};  ///< ours, or the tool's own words; "": that of the program
  std::string version{};    ///< of nccl-tests; of ours where we print
  std::string library{};    ///< NCCL's number: "22809"; "" where it is not told
  std::string program{};    ///< "all_reduce_perf"; "" where an old text does not say
  std::uint64_t threads = 1;
  std::uint64_t gpus = 1;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t step = 0;
  bool step_is_factor = false;
  std::uint64_t warmup = 0;
  std::uint64_t iterations = 0;
  std::uint64_t aggregated = 1;
  std::uint64_t validation = 0;
  std::uint64_t graph = 0;
  std::uint64_t misaligned = 0;
  std::vector<NcclTestsRank> ranks{};  ///< as far as they are told
  std::uint32_t size = 0;              ///< ranks in all; 0 where it cannot be told
  std::vector<NcclTestsRow> rows{};
  std::optional<std::uint64_t> out_of_bounds{};
  std::optional<double> average_bus_gb_per_s{};
  bool below_minimum = false;        ///< that average, than NCCL_TESTS_MIN_BW
  std::vector<std::string> notes{};  ///< for standard error: what was not read, and why
  std::string error{};               ///< why it ended early
};

/// Whether a text is one of nccl-tests', by what it begins with. Pure.
bool is_nccl_tests_text(std::string_view text) noexcept;
bool is_nccl_tests_json(std::string_view text) noexcept;
bool is_rccl_json(std::string_view text) noexcept;   ///< the lines or the list of RCCL's tests
bool is_nccl_tests(std::string_view text) noexcept;  ///< any of them

/// Every run in a text, of any release since 2017; lines of others between them are passed over,
/// and what mpirun or srun put before each line is cut off. A run that did not end has an error: a
/// rank's own words, or that rows or the last lines are missing. Throws Error(usage) with `source`
/// and the line where a row makes no sense, or where no run is.
std::vector<NcclTestsTable> parse_nccl_tests_text(std::string_view text, const std::string& source);

/// The file of -J (versions 1 to 3). Of a run that was aborted the results that it wrote, and an
/// error. Its dump of the process environment is not looked at. Throws Error(usage).
NcclTestsTable parse_nccl_tests_json(std::string_view text, const std::string& source);

/// What RCCL's tests write with -Z json: a line or an item for each result. A table for each
/// operation. Throws Error(usage).
std::vector<NcclTestsTable> parse_rccl_json(std::string_view text, const std::string& source);

/// The program that a table is of: what it says, else what `source` begins with (a file
/// all_gather_perf.txt), else what its columns allow; "" where it has no row. Throws Error(usage)
/// where that may be several.
std::string nccl_tests_program(const NcclTestsTable& table, const std::string& source);

}  // namespace rdmabench::import

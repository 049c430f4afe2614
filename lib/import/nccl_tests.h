// The table of nccl-tests, as it was read or as it is to be printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmabench::inline v1::import {

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
  std::uint64_t iterations = 0;        ///< where they differ from row to row; 0: the table's
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
  bool below_minimum = false;  ///< that average, than NCCL_TESTS_MIN_BW
  /// Of its numbers, for people.
  std::string about = "times are means; the operations that it timed were not checked";
  std::vector<std::string> notes{};  ///< for standard error: what was not read, and why
  std::string error{};               ///< why it ended early
};

}  // namespace rdmabench::inline v1::import

// What nccl-tests' texts and JSON have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "import/nccl_tests.h"
#include "table.h"

namespace rdmabench::inline v1::import {

/// In the order of the text, where one mark may be within the one before it.
struct NcclTestsSetting {
  std::string_view mark;  ///< before it in a text
  std::string_view json;  ///< its key; "": it is not there
  std::uint64_t NcclTestsTable::*member;
  std::uint64_t least = 0;
};
inline constexpr std::array kNcclTestsSettings{
    NcclTestsSetting{"nThread ", "nthreads", &NcclTestsTable::threads, 1},
    NcclTestsSetting{"nThreads: ", "", &NcclTestsTable::threads, 1},  // RCCL's until 2023
    NcclTestsSetting{"nGpus ", "ngpus", &NcclTestsTable::gpus, 1},
    NcclTestsSetting{"nGpus: ", "", &NcclTestsTable::gpus, 1},
    NcclTestsSetting{"minBytes ", "minimum_bytes", &NcclTestsTable::min_bytes},
    NcclTestsSetting{"minBytes: ", "", &NcclTestsTable::min_bytes},
    NcclTestsSetting{"maxBytes ", "maximum_bytes", &NcclTestsTable::max_bytes},
    NcclTestsSetting{"maxBytes: ", "", &NcclTestsTable::max_bytes},
    NcclTestsSetting{"step: ", "", &NcclTestsTable::step},
    NcclTestsSetting{"warmup iters: ", "warmup_iters", &NcclTestsTable::warmup},
    NcclTestsSetting{"warmupIters: ", "", &NcclTestsTable::warmup},
    NcclTestsSetting{" iters: ", "iterations", &NcclTestsTable::iterations},
    NcclTestsSetting{"agg iters: ", "aggregated_iterations", &NcclTestsTable::aggregated, 1},
    NcclTestsSetting{"validation: ", "validation", &NcclTestsTable::validation},
    NcclTestsSetting{"graph: ", "graph", &NcclTestsTable::graph},
    NcclTestsSetting{"unalign: ", "", &NcclTestsTable::misaligned}};

/// Of a placement: time, algorithm's and bus bandwidth, wrong elements; then minimum, maximum, 99th
/// percentile and coefficient of variation of the times, as a text has them with -I; in JSON alone
/// their median and standard deviation.
using NcclTestsNumbers = std::array<std::optional<double>, 10>;
inline constexpr std::size_t kWrongColumn = 3;

/// None for a placement that was not timed.
std::optional<NcclTestsCell> nccl_tests_cell(const NcclTestsNumbers& numbers, bool with_spread);

bool is_nccl_tests_program(std::string_view name);

/// Whether a text is one of nccl-tests', by what it begins with.
bool is_nccl_tests_text(std::string_view text) noexcept;
bool is_nccl_tests_json(std::string_view text) noexcept;
bool is_rccl_json(std::string_view text) noexcept;  ///< the lines or the list of RCCL's tests

/// Every run in the lines, of any release since 2017; those of others are passed over. A run that
/// did not end has an error: a rank's own words, or that rows or the last lines are missing. Throws
/// Error(usage) with the source and the line where a row makes no sense, or where no run is.
std::vector<NcclTestsTable> nccl_tests_text_tables(const Lines& lines, const Source& source);

/// The files of -J (versions 1 to 3). Of a run that was aborted the results that it wrote, and an
/// error. The dump of the process environment is not looked at. Throws Error(usage).
std::vector<NcclTestsTable> nccl_tests_json_tables(std::string_view text, const Source& source);

/// What RCCL's tests write with -Z json: a line or an item for each result. A table for each
/// operation. Throws Error(usage).
std::vector<NcclTestsTable> rccl_json_tables(std::string_view text, const Source& source);

/// The program that a table is of: what it says, else what `source` begins with (a file
/// all_gather_perf.txt), else what its columns allow; "" where it has no row. Throws Error(usage)
/// where that may be several.
std::string nccl_tests_program(const NcclTestsTable& table, const std::string& source);

}  // namespace rdmabench::inline v1::import

// What nccl-tests' texts and JSON have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rdmabench/import/nccl_tests.h"
#include "table.h"

namespace rdmabench::import {

/// In the order of the text, where one mark may be within the one before it.
struct NcclTestsSetting {
  std::string_view mark;  ///< before it in a text
  std::string_view json;  ///< its key; "": it is not there
  std::uint64_t NcclTestsTable::*member;
  std::uint64_t least = 0;
};
inline constexpr std::array kNcclTestsSettings{
    NcclTestsSetting{"nThread ", "nthreads", &NcclTestsTable::threads, 1},
    NcclTestsSetting{"nGpus ", "ngpus", &NcclTestsTable::gpus, 1},
    NcclTestsSetting{"minBytes ", "minimum_bytes", &NcclTestsTable::min_bytes},
    NcclTestsSetting{"maxBytes ", "maximum_bytes", &NcclTestsTable::max_bytes},
    NcclTestsSetting{"step: ", "", &NcclTestsTable::step},
    NcclTestsSetting{"warmup iters: ", "warmup_iters", &NcclTestsTable::warmup},
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

/// A table for each run, as parse_nccl_tests_text() and parse_nccl_tests_json() do.
std::vector<NcclTestsTable> nccl_tests_text_tables(const Lines& lines, const Source& source);
std::vector<NcclTestsTable> nccl_tests_json_tables(std::string_view text, const Source& source);

}  // namespace rdmabench::import

// The readers of each tool's output.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run.h"

namespace rdmabench::import {

// Tables that give a mean for each size: those of OSU's micro-benchmarks and of fabtests.

bool is_mean_table(std::string_view text) noexcept;

/// A run for each table. `program` is what printed it, where the text does not say: "fi_rma_bw";
/// "": what the file's name begins with. Throws Error(usage) with `source` and the line.
std::vector<Run> mean_table_runs(std::string_view text, const std::string& source,
                                 const std::string& program);

/// Whether a table of OSU's or of fabtests, or its program's command, begins in this line.
bool begins_mean_table(std::string_view line) noexcept;

bool is_perftest(std::string_view text) noexcept;

/// Whether a run of perftest, or its table, begins in this line.
bool begins_perftest(std::string_view line) noexcept;

/// A run for each that one of perftest's programs printed, with launchers' tags before its lines
/// too, or for its JSON. MB and MiB are both 2^20 bytes, as in its sources; in JSON, which names no
/// unit, the message rate tells it. A table without rows, and a run that failed, have an error.
/// Throws Error(usage) with `source` and the line for a table that makes no sense. `program`: as
/// above.
std::vector<Run> perftest_runs(std::string_view text, const std::string& source,
                               const std::string& program);

/// Text or JSON of nccl-tests, one for each run in it. `program`: as above. Throws Error(usage).
std::vector<Run> nccl_tests_runs(std::string_view text, const std::string& source,
                                 const std::string& program);
bool is_nccl_tests_program(const std::string& name);

}  // namespace rdmabench::import

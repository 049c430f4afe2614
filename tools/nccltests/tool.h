// nccl-tests' programs by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/collective/call.h"

namespace rdmabench::tools::nccltests {

struct Tool {
  std::string_view name;  ///< "all_reduce_perf"
  collective::Operation operation;
  std::string_view refused;  ///< why it is not offered, and what to use; "" if it is
};

std::span<const Tool> tools();

/// The program that measures this operation.
const Tool& tool_of(collective::Operation operation);

/// Measures and prints nccl-tests' table on rank 0; `words` are those after the program's name.
/// Returns the exit code. Throws Error.
int run(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::tools::nccltests

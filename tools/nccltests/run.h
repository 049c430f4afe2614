// Running a command line of one of nccl-tests' programs.
#pragma once

#include <string>
#include <vector>

#include "tool.h"

namespace rdmabench::tools::nccltests {

/// Measures and prints nccl-tests' table on rank 0; `words` are those after the program's name.
/// Returns the exit code. Throws Error.
int run(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::tools::nccltests

// rdmabench as one of perftest's tools.
#pragma once

#include <string>
#include <vector>

#include "tool.h"

namespace rdmabench::tools::perftest {

/// Parses the words after the tool's name; with a host it measures against it, without one it
/// serves one client. Prints, and returns the exit code: 0; 1 when the run failed or missed a
/// limit. Throws Error(usage) for a wrong command line, which main() prints.
int run(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::tools::perftest

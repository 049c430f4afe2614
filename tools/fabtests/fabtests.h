// rdmabench fi_rma_bw and its like: fabtests' benchmarks by their names, so that fabtests' runner
// and its users' scripts can drive this program.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace rdmabench::tools::fabtests {

/// `words` are those after the program's name. Without a host it serves one client and
/// ends. Returns the exit code: 0; 61 or 38 where fabtests would skip; else as fabtests does, an
/// errno where there is one and 1.
int run(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::tools::fabtests

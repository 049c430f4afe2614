// A command line of one of nccl-tests' programs.
#pragma once

#include <string>
#include <vector>

#include "../flags/command_line.h"
#include "flags.h"
#include "tool.h"

namespace rdmabench::tools::nccltests {

/// Reads the words after the program's name as read_command_line() does. Throws Error(usage): for
/// an unknown flag the text names the nearest right one, for a refused flag what to use instead.
CommandLine<Flags> parse(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::tools::nccltests

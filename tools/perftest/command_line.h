// A command line of one of perftest's tools.
#pragma once

#include <string>
#include <vector>

#include "../flags/command_line.h"
#include "flags.h"
#include "tool.h"

namespace rdmabench::inline v1::tools::perftest {

/// Reads the words after the tool's name as read_command_line() does. Throws Error(usage): for an
/// unknown flag the text names the nearest right one, for a refused flag what to use instead.
CommandLine<Flags> parse(const Tool& tool, const std::vector<std::string>& words);

Accepted accepted(const Tool& tool);

/// perftest's flags for what the library's errors name.
std::vector<FieldFlag> fields();

}  // namespace rdmabench::inline v1::tools::perftest

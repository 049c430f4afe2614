// A command line of one of perftest's tools.
#pragma once

#include <string>
#include <vector>

#include "flags.h"

namespace rdmabench::tools::perftest {

struct CommandLine {
  Flags flags;
  std::string answer;  ///< of --help or --version: print it, and do nothing else
};

/// Reads the words after the tool's name. As getopt_long(3) does, it takes bundled letters (-Fa),
/// values with and without a space (-s8), flags after the host, an unambiguous beginning of a long
/// name (--iter), and of two the same the last.
/// Throws Error(usage): an unknown word names the nearest right one, a refused flag what to use
/// instead.
CommandLine parse(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::tools::perftest

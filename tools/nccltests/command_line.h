// A command line of one of nccl-tests' programs.
#pragma once

#include <string>
#include <vector>

#include "flags.h"
#include "tool.h"

namespace rdmabench::tools::nccltests {

struct CommandLine {
  Flags flags;
  std::string answer;  ///< of --help or --version: print it, and do nothing else
};

/// Reads the words after the program's name as getopt_long(3) does: values with and without a
/// blank, an unambiguous beginning of a long name, of two the same the last. Throws Error(usage):
/// an unknown word names the nearest right one, a refused flag what to use instead.
CommandLine parse(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::tools::nccltests

// --launches of the commands that measure: each launch is a process of this program with the same
// words, its own memory and its own session at the server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expect.h"
#include "options.h"
#include "rdmabench/report/documents.h"

namespace rdmabench::tools {

/// What this process is, where it is one of several launches.
struct LaunchPart {
  std::uint32_t index = 0;  ///< from 0
  std::uint32_t count = 1;
  int document = -1;  ///< of a launch a descriptor, for the result as JSON

  bool is_launch() const { return document >= 0; }
};
LaunchPart launch_part();

/// Begins a command that measures. A launch writes to standard output, and whoever launched it
/// judges. Of more than one it launches this program so often, one after another, and writes what
/// came of them: the exit code. It ends with the first that fails, and then still writes those
/// before.
std::optional<int> begin_launches(std::uint32_t count, Output& output, Expectations& expect);

/// Of a launch.
void hand_over(const std::string& document);

}  // namespace rdmabench::tools

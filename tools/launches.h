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
  int document = -1;  ///< a descriptor, for the result as JSON
};
std::optional<LaunchPart> launch_part();

/// Of a launch: it writes to standard output, and whoever launched it judges.
void settle_launch(Output& output, Expectations& expect);
void hand_over(const LaunchPart& part, const std::string& document);

/// Launches this program so often, one after another, and writes what came of them. It ends with
/// the first that fails, and then still writes those before. Returns the exit code.
int run_launches(std::uint32_t count, const Output& output, const Expectations& expect);

}  // namespace rdmabench::tools

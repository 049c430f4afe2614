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

namespace rdmabench::inline v1::tools {

/// What this process is, where it is one of several launches.
struct LaunchPart {
  std::uint32_t index = 0;  ///< from 0
  std::uint32_t count = 1;  ///< 0: it measures nothing and says whether it could
  int document = -1;        ///< of a launch a descriptor, for the result as JSON

  bool is_launch() const { return document >= 0 && count > 0; }
  bool is_check() const { return count == 0; }
};
LaunchPart launch_part();

/// What one launch left.
struct OneLaunch {
  int code = 0;
  std::string ended{};     ///< by which signal; "" by none
  std::string document{};  ///< JSON; "" = it has none
  std::string text{};      ///< what it wrote to standard output
};

/// Runs this program with these words, of which the first is its name, as launch `index` of
/// `count`. A signal to this process ends it too.
OneLaunch launch(std::vector<std::string> words, std::uint32_t index, std::uint32_t count);

/// Whether these words measure what `launch` may be asked for: 0, or the exit code of the process
/// that refused them and said why. Throws Error(usage) where they measure nothing.
int check_launch(const std::vector<std::string>& words);

/// Of several ranks each has its own launches, and one that does not lead no documents.
struct LaunchOptions {
  bool leads = true;
  std::string stream{};  ///< where the launches of a fabric write their records
};

/// Begins a command that measures. A launch writes to standard output, and whoever launched it
/// judges. Of more than one it launches this program so often, one after another, and writes what
/// came of them: the exit code. It ends with the first that does not come to its end, and then
/// still writes those before.
std::optional<int> begin_launches(std::uint32_t count, Output& output, Limits& expect,
                                  const LaunchOptions& options = {});

/// What a launch came to, as JSON; a rank without a document says kLastLaunch where it knows that
/// no other follows.
void hand_over(const std::string& document);
inline constexpr const char* kLastLaunch = "last";

}  // namespace rdmabench::inline v1::tools

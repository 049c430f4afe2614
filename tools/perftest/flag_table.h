// Every flag of perftest 4.5 and of its newest release, and what becomes of it here.
//
// docs/perftest.md shows this table, and a test compares the two. Facts from perftest's usage texts
// and getopt tables: Debian's 4.5 (tag v4.5-0.17, protocol version 6.06) and 26.04 (protocol
// version 6.29).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "../flags/values.h"
#include "flags.h"

namespace rdmabench::inline v1::tools::perftest {

using run::Config;
using Flag = tools::Flag<Flags>;

struct FlagGroup {
  std::string_view title;
  std::span<const Flag> flags;
};

std::span<const FlagGroup> flag_groups();

/// The rows as the tables of docs/perftest.md.
std::string to_markdown();

// Groups with files of their own.
std::span<const Flag> traffic_flags();
std::span<const Flag> memory_flags();

// Rows of the tables. `exercised` is "guest", "unit", or why it is not.
/// Sets an option of rdmabench, by its name in run/options.h.
constexpr Flag same(Spelling spelling, std::string_view option, ToolSet tools,
                    std::string_view text, std::string_view exercised) {
  return {spelling, tools, Handling::mapped, text, exercised, nullptr, "", option};
}
constexpr Flag mapped(Spelling spelling, ToolSet tools, std::string_view text,
                      std::string_view exercised, Flag::Set set, std::string_view option = {}) {
  return {spelling, tools, Handling::mapped, text, exercised, set, "", option};
}
constexpr Flag not_needed(Spelling spelling, ToolSet tools, std::string_view text,
                          std::string_view exercised) {
  return {spelling, tools, Handling::not_needed, text, exercised};
}
constexpr Flag ignored(Spelling spelling, ToolSet tools, std::string_view text,
                       std::string_view exercised) {
  return {spelling, tools, Handling::ignored, text, exercised};
}
/// `text` is a sentence that says what to use instead.
constexpr Flag refused(Spelling spelling, ToolSet tools, std::string_view text) {
  return {spelling, tools, Handling::refused, text, "unit"};
}

}  // namespace rdmabench::inline v1::tools::perftest

// Every flag of nccl-tests 2.19.6, and what becomes of it here.
//
// docs/nccl-tests.md shows this table, and a test compares the two. Facts from the getopt tables of
// src/common.cu, at 2.19.6 and earlier releases.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "../flags/values.h"
#include "flags.h"

namespace rdmabench::tools::nccltests {

using Flag = tools::Flag<Flags>;

std::span<const Flag> flags();

/// The rows as the table of docs/nccl-tests.md.
std::string to_markdown();

// Rows of the table; all programs have all flags. `usual` is nccl-tests' default; `exercised` is
// "fake" (by tests/integration/nccl.py) or "unit".
inline constexpr ToolSet kAll = 1;
constexpr Flag mapped(Spelling spelling, std::string_view usual, std::string_view text,
                      std::string_view exercised, Flag::Set set) {
  return {spelling, kAll, Handling::mapped, text, exercised, set, usual};
}
/// Only the default is accepted. `text` is a sentence that says what to use instead.
constexpr Flag refused(Spelling spelling, std::string_view usual, std::string_view text) {
  return {spelling, kAll, Handling::refused, text, "unit", nullptr, usual};
}

}  // namespace rdmabench::tools::nccltests

// The library's errors name fields of its options, as `depth`; a command names its flags.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::tools {

/// A field of run::Config or of a fabric's options, and the flag that sets it.
using FieldFlag = std::pair<std::string_view, std::string>;

/// The long flags of all commands, "--depth": they stand for the fields of the same name. To be
/// called before any other thread runs.
void know_flags(std::set<std::string> flags);

/// `text` with each name in backquotes replaced: by its flag in `own`, else by its flag of
/// `rdmabench`; other names stay as they are.
std::string with_flags(std::string_view text, std::span<const FieldFlag> own = {});

/// The same in what the report's suspicions say.
void name_flags(report::Report& report);

}  // namespace rdmabench::inline v1::tools

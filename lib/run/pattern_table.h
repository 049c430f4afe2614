// The patterns that were registered with this process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rdmabench/run/patterns.h"
#include "rdmabench/transport/operation.h"

namespace rdmabench::inline v1::run {

/// Throws Error(usage) that lists the registered patterns for another name.
const PatternNeeds& pattern_needs(std::string_view name);

/// Bytes of a message of the pattern, or of any message where the name is "".
std::uint64_t least_size(std::string_view name);

/// The operation that a row names, or all of a pattern's: "send+write-imm".
std::string operation_text(std::string_view pattern, transport::OperationCode operation);

}  // namespace rdmabench::inline v1::run

// The patterns that were registered with this process.
#pragma once

#include <string>
#include <string_view>
#include <typeindex>

#include "rdmabench/transport/operation.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::run {

namespace detail {
using AnyLoop = void (*)();  // as in run/patterns.h
}

/// What the pattern posts. Throws Error(usage) that lists the registered patterns for another name.
transport::OperationSet pattern_operations(std::string_view name);

/// The loop of one side over endpoints of that type, a PatternLoop of it. Throws Error(usage) where
/// the pattern posts an operation that the endpoint lacks.
detail::AnyLoop find_pattern(std::string_view name, std::type_index endpoint, workload::Side side,
                             bool validate);

/// The operation that a row names, or all of a pattern's: "send+write-imm".
std::string operation_text(std::string_view pattern, transport::OperationCode operation);

}  // namespace rdmabench::inline v1::run

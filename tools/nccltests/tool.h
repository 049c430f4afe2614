// nccl-tests' programs by name.
#pragma once

#include <span>
#include <string_view>

#include "rdmabench/collective/call.h"

namespace rdmabench::tools::nccltests {

struct Tool {
  std::string_view name;  ///< "all_reduce_perf"
  collective::Operation operation;
  std::string_view refused;  ///< why it is not offered, and what to use; "" if it is
};

std::span<const Tool> tools();

/// The program that measures this operation.
const Tool& tool_of(collective::Operation operation);

}  // namespace rdmabench::tools::nccltests

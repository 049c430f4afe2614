// nccl-tests' programs by name.
#pragma once

#include <span>
#include <string_view>

#include "../flags/flag.h"
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

/// By the last part of a path, so that argv[0] will do; nullptr for any other word.
inline const Tool* find_tool(std::string_view path) {
  return find_tool_in(tools(), path);
}

}  // namespace rdmabench::tools::nccltests

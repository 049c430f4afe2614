// nccl-tests' programs by name.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/collective/call.h"

namespace rdmabench::inline v1::tools::nccltests {

struct Tool {
  std::string_view name;  ///< "all_reduce_perf"
  collective::Operation operation;
  std::string_view refused;  ///< why it is not offered, and what to use; "" if it is
};

inline constexpr Tool kTools[]{
    {"all_reduce_perf", collective::Operation::all_reduce, ""},
    {"all_gather_perf", collective::Operation::all_gather, ""},
    {"reduce_scatter_perf", collective::Operation::reduce_scatter, ""},
    {"broadcast_perf", collective::Operation::broadcast, ""},
    {"reduce_perf", collective::Operation::reduce, ""},
    {"alltoall_perf", collective::Operation::all_to_all, ""},
    {"alltoallv_perf", collective::Operation::all_to_all_v, ""},
    {"gather_perf", collective::Operation::gather, ""},
    {"scatter_perf", collective::Operation::scatter, ""},
    {"sendrecv_perf", collective::Operation::send_receive, ""},
    {"hypercube_perf", collective::Operation::all_gather,
     "It is an all-gather made of sends between powers of two of ranks: measure all_gather_perf, "
     "whose result is the same, and sendrecv_perf."},
};

constexpr std::span<const Tool> tools() {
  return kTools;
}

/// The program that measures this operation.
constexpr const Tool& tool_of(collective::Operation operation) {
  return *std::find_if(std::begin(kTools), std::end(kTools),
                       [&](const Tool& tool) { return tool.operation == operation; });
}

/// Measures and prints nccl-tests' table on rank 0; `words` are those after the program's name.
/// Returns the exit code. Throws Error.
int run(const Tool& tool, const std::vector<std::string>& words);

}  // namespace rdmabench::inline v1::tools::nccltests

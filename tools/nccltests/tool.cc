#include "tool.h"

#include <algorithm>
#include <array>

namespace rdmabench::tools::nccltests {
namespace {

using collective::Operation;

constexpr std::array<Tool, 11> kTools{{
    {"all_reduce_perf", Operation::all_reduce, ""},
    {"all_gather_perf", Operation::all_gather, ""},
    {"reduce_scatter_perf", Operation::reduce_scatter, ""},
    {"broadcast_perf", Operation::broadcast, ""},
    {"reduce_perf", Operation::reduce, ""},
    {"alltoall_perf", Operation::all_to_all, ""},
    {"alltoallv_perf", Operation::all_to_all_v, ""},
    {"gather_perf", Operation::gather, ""},
    {"scatter_perf", Operation::scatter, ""},
    {"sendrecv_perf", Operation::send_receive, ""},
    {"hypercube_perf", Operation::all_gather,
     "It is an all-gather made of sends between powers of two of ranks: measure all_gather_perf, "
     "whose result is the same, and sendrecv_perf."},
}};

}  // namespace

std::span<const Tool> tools() {
  return kTools;
}

const Tool& tool_of(collective::Operation operation) {
  return *std::find_if(kTools.begin(), kTools.end(),
                       [&](const Tool& tool) { return tool.operation == operation; });
}

}  // namespace rdmabench::tools::nccltests

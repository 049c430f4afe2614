// Says that a run measured no RDMA, and nobody asked for that.
#pragma once

#include <string>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

/// "NOT RDMA: measured over ofi, provider tcp, device eth0, no RDMA device on 2 of 2 nodes"; ""
/// where it was RDMA, or the provider was asked for by name. Pure.
std::string not_rdma(const Report& report);

}  // namespace rdmabench::inline v1::report

// Says that a run measured no RDMA, and nobody asked for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

/// "NOT RDMA: measured over ofi, provider tcp, device eth0, no RDMA device on 2 of 2 nodes"; ""
/// where it was RDMA, or the provider was asked for by name. Pure.
std::string not_rdma(const Report& report);

/// InfiniBand, RoCE, iWARP, EFA, and Slingshot, whose class is its own; nothing where the kernel
/// shows no classes. `root` holds sys.
std::optional<std::uint64_t> count_rdma_devices(const std::string& root);

/// Its end: "no RDMA device on 2 of 8 nodes", or that none is known to lack one.
std::string without_rdma(std::size_t without, std::size_t nodes);

}  // namespace rdmabench::inline v1::report

// NUMA nodes: which there are, which one is near a device, and where pages are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/memory/buffer.h"

namespace rdmabench::memory {

/// The nodes that are online, in order; {0} where the kernel does not tell. `root` is where the
/// machine's files are; a test gives a folder of its own. Source: sysfs,
/// devices/system/node/online.
std::vector<int> numa_nodes(const std::string& root = "/");

/// The node that an RDMA device is attached to, that of its network device for a software one
/// (Soft-RoCE); -1 when unknown. Source: sysfs, class/infiniband/NAME/device/numa_node.
int node_near(std::string_view device, const std::string& root = "/");

/// Asks that pages not yet touched come from `node` while it has any: MPOL_PREFERRED, because the
/// kernel kills a process whose bound node is full. Throws Error(unavailable) in a build without
/// hwloc, Error(usage) for a node that is not there, Error(failed) when the kernel refuses.
/// Source: hwloc_set_area_membind(3), mbind(2).
void prefer_node(std::span<std::byte> pages, int node);

/// On which nodes the pages really are, the nodes in ascending order. Bytes that begin within a
/// page count from that page's start. Empty where the kernel does not answer at all. Source:
/// move_pages(2) without nodes.
std::vector<NodePages> find_pages(std::span<const std::byte> bytes, std::uint64_t page_bytes);

}  // namespace rdmabench::memory

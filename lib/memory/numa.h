// NUMA nodes: lists them, finds that of a device, and finds those of pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::memory {

/// The online nodes in ascending order; {0} if unknown. `root` is the root of /sys; tests pass
/// another folder. Source: sysfs, devices/system/node/online.
std::vector<int> numa_nodes(const std::string& root = "/");

/// The node of a NIC, named as device_folder() takes it; -1 if unknown. Source: sysfs, numa_node.
int node_near(std::string_view device, const std::string& root = "/");

/// Sets the policy of untouched pages to prefer `node`. It is MPOL_PREFERRED, because with a
/// binding the kernel kills the process when the node is full. Throws Error(usage) for an unknown
/// node, Error(failed) if the kernel refuses. Source: mbind(2).
void prefer_node(std::span<std::byte> pages, int node);

/// The nodes of the pages, in ascending order. A first partial page counts as a whole one. Empty if
/// the kernel does not report it. Source: move_pages(2) without nodes.
std::vector<NodePages> find_pages(std::span<const std::byte> bytes, std::uint64_t page_bytes);

}  // namespace rdmabench::inline v1::memory

#include "memory/numa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/number.h"
#include "base/pci_path.h"
#include "base/refuse.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::memory {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPagesPerCall = 4096;

}  // namespace

std::vector<int> numa_nodes(const std::string& root) {
  constexpr std::uint64_t kMost = 1023;  // the largest MAX_NUMNODES of the kernel, minus 1
  std::vector<int> nodes;
  for_each_range(first_line(fs::path(root) / "sys/devices/system/node/online"),
                 [&](std::uint64_t first, std::uint64_t last) {
                   for (std::uint64_t node = first; node <= std::min(last, kMost); ++node) {
                     nodes.push_back(static_cast<int>(node));
                   }
                 });
  if (nodes.empty()) nodes.push_back(0);
  return nodes;
}

int node_near(std::string_view device, const std::string& root) {
  const std::string folder = device_folder(device, root);
  if (folder.empty()) return -1;
  return parse_number<int>(first_line(fs::path(folder) / "numa_node")).value_or(-1);
}

void prefer_node(std::span<std::byte> pages, int node) {
  const std::vector<int> nodes = numa_nodes();
  refuse_if(std::find(nodes.begin(), nodes.end(), node) == nodes.end(),
            fmt::format("this machine has no NUMA node {}", node),
            fmt::format("Available: {}.", fmt::join(nodes, ", ")));
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(static_cast<std::size_t>(node) / kBits + 1);
  mask[static_cast<std::size_t>(node) / kBits] = 1UL << static_cast<std::size_t>(node) % kBits;
  // Not MPOL_BIND: the kernel kills a process whose bound node is full. It reads one bit less than
  // it is told.
  if (syscall(SYS_mbind, pages.data(), pages.size(), MPOL_PREFERRED, mask.data(),
              mask.size() * kBits + 1, 0) != 0) {
    throw Error(Fault::failed, fmt::format("mbind(NUMA node {})", node),
                "A container or a cpuset may forbid it: set `numa` to none.", errno);
  }
}

std::vector<NodePages> find_pages(std::span<const std::byte> bytes, std::uint64_t page_bytes) {
  std::map<int, std::uint64_t> found;
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()) / page_bytes * page_bytes;
  const auto end = reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size();
  std::vector<void*> pages;
  std::vector<int> status;
  for (std::uintptr_t at = begin; at < end;) {
    pages.clear();
    for (; at < end && pages.size() < kPagesPerCall; at += page_bytes) {
      pages.push_back(reinterpret_cast<void*>(at));  // NOLINT(performance-no-int-to-ptr)
    }
    status.assign(pages.size(), -1);
    if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, status.data(), 0) != 0) {
      return {};
    }
    for (const int node : status) ++found[std::max(node, -1)];  // a negative value is an errno
  }
  std::vector<NodePages> places;
  for (const auto& [node, count] : found) places.push_back({node, count});
  return places;
}

std::string to_text(const std::vector<NodePages>& places) {
  std::string text;
  for (const NodePages& place : places) {
    if (!text.empty()) text += ", ";
    text += place.node < 0 ? "unknown node" : fmt::format("node {}", place.node);
    text += fmt::format(": {} page{}", place.pages, place.pages == 1 ? "" : "s");
  }
  return text.empty() ? "unknown" : text;
}

}  // namespace rdmabench::inline v1::memory

#include "memory/numa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

#if RDMABENCH_HAVE_HWLOC
#include <hwloc.h>

#include <memory>
#endif

namespace rdmabench::memory {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPagesPerCall = 4096;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The numbers of a list like "0-3,8"; none for an invalid list.
std::vector<int> parse_list(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int first = 0;
    std::from_chars_result read = std::from_chars(at, end, first);
    int last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
    }
    if (read.ec != std::errc()) return {};
    for (int number = first; number <= last; ++number) numbers.push_back(number);
    at = read.ptr != end && *read.ptr == ',' ? read.ptr + 1 : end;
  }
  return numbers;
}

#if RDMABENCH_HAVE_HWLOC
struct DestroyTopology {
  void operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  // Only nodes: finding caches and I/O devices takes time.
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}
#endif

}  // namespace

std::vector<int> numa_nodes(const std::string& root) {
  std::vector<int> nodes =
      parse_list(first_line(fs::path(root) / "sys/devices/system/node/online"));
  if (nodes.empty()) nodes.push_back(0);
  return nodes;
}

int node_near(std::string_view device, const std::string& root) {
  if (device.empty() || device.find('/') != std::string_view::npos) return -1;
  const fs::path sys = fs::path(root) / "sys/class";
  const fs::path folder = sys / "infiniband" / device;
  std::string text = first_line(folder / "device/numa_node");
  if (text.empty()) {
    const std::string parent = first_line(folder / "parent");
    if (!parent.empty()) text = first_line(sys / "net" / parent / "device/numa_node");
  }
  int node = -1;
  std::from_chars(text.data(), text.data() + text.size(), node);
  return node;
}

void prefer_node([[maybe_unused]] std::span<std::byte> pages, int node) {
  const std::vector<int> nodes = numa_nodes();
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
    throw Error(Fault::usage, fmt::format("this machine has no NUMA node {}", node),
                fmt::format("Available: {}.", fmt::join(nodes, ", ")));
  }
#if RDMABENCH_HAVE_HWLOC
  static const Topology topology = load_topology();
  const hwloc_obj_t object = topology == nullptr ? nullptr
                                                 : hwloc_get_numanode_obj_by_os_index(
                                                       topology.get(), static_cast<unsigned>(node));
  if (object == nullptr) {
    throw Error(Fault::failed, fmt::format("hwloc does not know NUMA node {}", node),
                "A cpuset may exclude it: set `numa` to none.");
  }
  if (hwloc_set_area_membind(topology.get(), pages.data(), pages.size(), object->nodeset,
                             HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET) != 0) {
    throw Error(Fault::failed, fmt::format("hwloc_set_area_membind(NUMA node {})", node),
                "A container may forbid mbind(2): set `numa` to none.", errno);
  }
#else
  throw Error(Fault::unavailable,
              fmt::format("memory on NUMA node {}: this build has no hwloc", node),
              "Build with -DRDMABENCH_HWLOC=ON, or set `numa` to none under 'numactl --membind'.");
#endif
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

}  // namespace rdmabench::memory

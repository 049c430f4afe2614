#include "gpu/pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/letters.h"
#include "pci_path.h"

namespace rdmabench::gpu {
namespace {

namespace fs = std::filesystem;

bool has_one_node(const fs::path& root) {
  std::error_code error;
  return fs::exists(root / "sys/devices/system/node/node0", error) &&
         !fs::exists(root / "sys/devices/system/node/node1", error);
}

Pair judge_nodes(const PciPath& a, const PciPath& b, const fs::path& root) {
  if (a.numa_node >= 0 && b.numa_node >= 0) {
    if (a.numa_node == b.numa_node) {
      return {Distance::node, fmt::format("different host bridges of NUMA node {}", a.numa_node)};
    }
    return {Distance::sys, fmt::format("NUMA nodes {} and {}", a.numa_node, b.numa_node)};
  }
  // The kernel often reports no node if there is only one.
  if (has_one_node(root)) return {Distance::node, "different host bridges of the only NUMA node"};
  return {Distance::unknown, "different host bridges with unknown NUMA nodes"};
}

Pair judge(const PciPath& a, const PciPath& b, const fs::path& root) {
  const auto [left, right] =
      std::mismatch(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end());
  const auto common = static_cast<std::size_t>(left - a.steps.begin());
  if (common == 0) return judge_nodes(a, b, root);
  if (common == 1) return {Distance::phb, "the host bridge " + a.steps.front()};
  const std::string& meeting = a.steps[common - 1];
  // Below the common port, each side of one switch has one port of the switch and the device.
  const auto bridges = std::max(a.steps.end() - left, b.steps.end() - right) - 1;
  if (bridges <= 1) return {Distance::pix, "both below the PCIe switch " + meeting};
  return {Distance::pxb, "several PCIe switches; " + meeting + " is above both"};
}

}  // namespace

std::string_view name(Distance distance) noexcept {
  constexpr std::array<std::string_view, 6> kWords{"PIX", "PXB", "PHB", "NODE", "SYS", "unknown"};
  return kWords[static_cast<std::size_t>(distance)];
}

Pair find_pair(std::string_view rdma_device, std::string_view gpu_pci, const std::string& root) {
  const std::string address = lower(gpu_pci);
  const PciPath nic = path_of_rdma_device(rdma_device, root);
  const PciPath gpu = path_of_pci_device(address, root);
  Pair pair;
  if (!nic.known()) {
    pair.text = fmt::format("{} is not a PCI device", rdma_device);
  } else if (!gpu.known()) {
    pair.text = fmt::format("sysfs has no PCI device {}", address);
  } else {
    pair = judge(nic, gpu, root);
  }
  pair.text =
      fmt::format("{} and GPU {}: {}, {}", rdma_device, address, name(pair.distance), pair.text);
  return pair;
}

}  // namespace rdmabench::gpu

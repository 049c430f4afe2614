// The path from a CPU's host bridge to a PCI function, and how far two functions are apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1 {

/// "0000:1b:00.0", in small letters. With many domains (Intel VMD) a domain has five digits.
bool is_pci_address(std::string_view text);

/// A value. No steps if the place of the function is unknown.
struct PciPath {
  std::vector<std::string> steps;  ///< "pci0000:15", the bridges, the function: "0000:18:00.0"
  std::string folder;              ///< of the function
  int numa_node = -1;              ///< -1: unknown

  bool known() const noexcept { return steps.size() >= 2; }
};

/// By the real path of a folder of sysfs, up to the last PCI function in it: a virtio device, for
/// example, is below that. Not the NUMA node.
PciPath pci_path(std::string_view folder);

/// The folder of sysfs of an RDMA device ("mlx5_0"), a network device ("eth0") or a PCI function
/// ("0000:1b:00.0"); for a software device (Soft-RoCE) that of its network device; "" for none.
/// `root` is the root of /sys; tests pass another folder. Source: sysfs, class/infiniband,
/// class/net, bus/pci/devices.
std::string device_folder(std::string_view name, const std::string& root = "/");

/// How many steps both have, from the host bridge on.
std::size_t common_steps(const PciPath& a, const PciPath& b);

/// Nearest first, with the names of `nvidia-smi topo` and NCCL.
enum class PciDistance : std::uint8_t {
  pix,      ///< at most one PCIe switch
  pxb,      ///< several PCIe switches
  phb,      ///< the CPU's PCIe host bridge
  node,     ///< host bridges of one NUMA node
  sys,      ///< the link between NUMA nodes
  unknown,  ///< one is not a PCI function (Soft-RoCE), or its place is unknown
};

/// "PIX", "PXB", "PHB", "NODE", "SYS", "unknown".
std::string_view name(PciDistance distance) noexcept;

/// `one_node`: the machine has one NUMA node, for which the kernel often reports none.
PciDistance pci_distance(const PciPath& a, const PciPath& b, bool one_node);

}  // namespace rdmabench::inline v1

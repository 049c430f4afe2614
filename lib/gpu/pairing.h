// Which NIC is near which GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::gpu {

/// What lies between two PCI devices, nearest first. The names are those of `nvidia-smi topo`.
enum class Distance : std::uint8_t {
  pix,      ///< one PCIe switch at most
  pxb,      ///< several PCIe switches
  phb,      ///< the CPU's PCIe host bridge
  node,     ///< host bridges of one NUMA node
  sys,      ///< the link between NUMA nodes
  unknown,  ///< one of them is no PCI device, as with Soft-RoCE, or its place is not told
};

/// "PIX", "PXB", "PHB", "NODE", "SYS", "unknown".
std::string_view name(Distance distance) noexcept;

/// Where an RDMA device and a GPU lie to each other.
struct Pair {
  std::string rdma_device;  ///< "mlx5_0"
  std::string rdma_pci;     ///< "0000:18:00.0"; "" for none
  std::string gpu_pci;
  Distance distance = Distance::unknown;
  std::string
      text;  ///< "mlx5_0 and GPU 0000:1b:00.0: PIX, both below the PCIe switch 0000:15:00.0"
};

// `root` is where the machine's files are; a test gives a folder of its own. Source: sysfs,
// class/infiniband/NAME/device and bus/pci/devices/ADDRESS, whose links lead through every bridge.
// None of these throws for what the files hold.

Pair find_pair(std::string_view rdma_device, std::string_view gpu_pci,
               const std::string& root = "/");

/// The RDMA devices of this machine, the nearest to the GPU first; those that are equally near in
/// the order of their names, numbers by value.
std::vector<Pair> rank_pairs(std::string_view gpu_pci, const std::string& root = "/");

/// What was chosen and why: "mlx5_0 of 8 for GPU 0000:1b:00.0: PIX, ...; mlx5_1 is as near". Of no
/// pairs: that there is no RDMA device.
std::string choice_text(const std::vector<Pair>& ranked);

}  // namespace rdmabench::gpu

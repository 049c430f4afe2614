// How near a NIC is to a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmabench::gpu {

/// The distance of two PCI devices, nearest first, with the names of `nvidia-smi topo`.
enum class Distance : std::uint8_t {
  pix,      ///< at most one PCIe switch
  pxb,      ///< several PCIe switches
  phb,      ///< the CPU's PCIe host bridge
  node,     ///< host bridges of one NUMA node
  sys,      ///< the link between NUMA nodes
  unknown,  ///< one is not a PCI device (Soft-RoCE), or its place is unknown
};

/// "PIX", "PXB", "PHB", "NODE", "SYS", "unknown".
std::string_view name(Distance distance) noexcept;

/// The distance of an RDMA device and a GPU, and "mlx5_0 and GPU 0000:1b:00.0: PIX, both below the
/// PCIe switch 0000:15:00.0".
struct Pair {
  Distance distance = Distance::unknown;
  std::string text;
};

// `root` is the root of /sys; tests pass another folder. Source: sysfs,
// class/infiniband/NAME/device and bus/pci/devices/ADDRESS, whose links name every bridge. Invalid
// files do not cause exceptions.

Pair find_pair(std::string_view rdma_device, std::string_view gpu_pci,
               const std::string& root = "/");

}  // namespace rdmabench::gpu

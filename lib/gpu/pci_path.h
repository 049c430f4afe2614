// The path from a CPU's host bridge to a PCI device, from sysfs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::gpu {

/// A value. No steps if the place of the device is unknown.
struct PciPath {
  std::vector<std::string> steps;  ///< "pci0000:15", the bridges, then the device: "0000:18:00.0"
  int numa_node = -1;              ///< -1: unknown

  bool known() const noexcept { return steps.size() >= 2; }
};

// `root` is the root of /sys. Invalid files do not cause exceptions.

PciPath path_of_pci_device(std::string_view address, const std::filesystem::path& root);

/// For a software device (Soft-RoCE) the path of its network device.
PciPath path_of_rdma_device(std::string_view name, const std::filesystem::path& root);

}  // namespace rdmabench::gpu

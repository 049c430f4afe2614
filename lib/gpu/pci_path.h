// The way from a CPU's host bridge to a PCI device, as sysfs tells it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::gpu {

/// A value. Of a device whose place is not told, no steps.
struct PciPath {
  std::vector<std::string> steps;  ///< "pci0000:15", the bridges, then the device: "0000:18:00.0"
  int numa_node = -1;              ///< -1: not told

  bool known() const noexcept { return steps.size() >= 2; }
  std::string address() const { return known() ? steps.back() : std::string(); }
};

// `root` is where the machine's files are. Neither throws for what they hold.

PciPath path_of_pci_device(std::string_view address, const std::filesystem::path& root);

/// Of a software device (Soft-RoCE), that of its network device.
PciPath path_of_rdma_device(std::string_view name, const std::filesystem::path& root);

}  // namespace rdmabench::gpu

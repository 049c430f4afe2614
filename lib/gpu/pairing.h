// How near a NIC is to a GPU.
#pragma once

#include <string>
#include <string_view>

#include "base/pci_path.h"

namespace rdmabench::inline v1::gpu {

/// The distance of a NIC and a GPU, and "mlx5_0 and GPU 0000:1b:00.0: PIX, both below the
/// PCIe switch 0000:15:00.0".
struct Pair {
  PciDistance distance = PciDistance::unknown;
  std::string text;
};

// `root` is the root of /sys; tests pass another folder. Source: sysfs, where the links to devices
// name every bridge. Invalid files do not cause exceptions.

/// `nic` as device_folder() takes it.
Pair find_pair(std::string_view nic, std::string_view gpu_pci, const std::string& root = "/");

}  // namespace rdmabench::inline v1::gpu

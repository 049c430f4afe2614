// What a node has, before anything is judged: which devices, on which PCI path, with which network
// devices. Names and folders only; values are read by the checks. Private to this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/health/file_tree.h"

namespace rdmabench::health {

/// A PCI function. Its folder is where sysfs has it: below that of the bridge above it.
struct PciFunction {
  std::string address;             ///< "0000:98:00.0"
  std::string folder;              ///< "sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0"
  std::vector<PciFunction> above;  ///< the bridges, the root port first; empty within those
};

struct RdmaDevice;

struct RdmaPort {
  std::string number;      ///< "1"
  std::string name;        ///< "mlx5_0:1"
  std::string folder;      ///< ".../ports/1"
  std::string link_layer;  ///< "InfiniBand", "Ethernet", "Unspecified"; "" if it is not told
  std::string interface;   ///< the network device; "" for none
  const RdmaDevice* device = nullptr;

  bool infiniband() const { return link_layer == "InfiniBand"; }
  bool roce() const { return link_layer == "Ethernet"; }
};

struct RdmaDevice {
  std::string name;    ///< "mlx5_0"
  std::string driver;  ///< "mlx5", "efa", "rxe", ...; the kernel's own name for others
  std::string folder;  ///< "sys/class/infiniband/mlx5_0"
  PciFunction pci;     ///< with an empty address where there is none
  std::vector<RdmaPort> ports;

  bool physical() const { return !pci.address.empty(); }
};

struct Gpu {
  PciFunction pci;
  bool nvidia = false;
};

/// What the checks look at.
struct Inventory {
  explicit Inventory(const FileTree& tree);
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;

  std::vector<RdmaDevice> devices;
  std::vector<Gpu> gpus;
  /// Functions that carry RDMA by what they are, with or without a driver.
  std::vector<PciFunction> rdma_functions;
  bool virtual_machine = false;

  /// Of the RoCE ports, once each.
  std::vector<std::string> roce_interfaces() const;
};

/// The functions on the way to a folder of sysfs, the last of which is the device; its address is
/// empty where the folder is not below a PCI root.
PciFunction pci_function(std::string_view folder);

/// "0-3,8" has that number. False for a text that is not a list.
bool list_has(std::string_view list, std::uint64_t number);

/// How many numbers are in "0-3,8"; 0 for a text that is not a list.
std::uint64_t list_count(std::string_view list);

/// Whether two lists share a number.
bool lists_overlap(std::string_view first, std::string_view second);

}  // namespace rdmabench::health

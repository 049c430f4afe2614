// The devices of a node, their PCI paths and their network devices. Only names and folders; the
// checks read the values. Private to this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {

/// A PCI function. In sysfs its folder is below that of the bridge above it.
struct PciFunction {
  std::string address;             ///< "0000:98:00.0"
  std::string folder;              ///< "sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0"
  std::vector<PciFunction> above;  ///< bridges, the root port first; empty in `above` itself
};

struct RdmaDevice;

struct RdmaPort {
  std::string number;      ///< "1"
  std::string name;        ///< "mlx5_0:1"
  std::string folder;      ///< ".../ports/1"
  std::string link_layer;  ///< "InfiniBand", "Ethernet", "Unspecified"; "" if unknown
  std::string interface;   ///< the network device; "" for none
  const RdmaDevice* device = nullptr;

  bool infiniband() const { return link_layer == "InfiniBand"; }
  bool roce() const { return link_layer == "Ethernet"; }
};

struct RdmaDevice {
  std::string name;    ///< "mlx5_0"
  std::string driver;  ///< "mlx5", "efa", "rxe", ...; for others the kernel's name
  std::string folder;  ///< "sys/class/infiniband/mlx5_0"
  PciFunction pci;     ///< address is "" if there is none
  std::vector<RdmaPort> ports;

  bool physical() const { return !pci.address.empty(); }
};

struct Gpu {
  PciFunction pci;
  bool nvidia = false;
};

/// What the checks examine.
struct Inventory {
  explicit Inventory(const FileTree& tree);
  Inventory& operator=(Inventory&&) = delete;

  std::vector<RdmaDevice> devices;
  std::vector<Gpu> gpus;
  /// Functions whose class or id means RDMA, with or without a driver.
  std::vector<PciFunction> rdma_functions;
  bool virtual_machine = false;

  /// The network devices of RoCE ports, each once.
  std::vector<std::string> roce_interfaces() const;
};

/// The functions on the path to a folder of sysfs. The last one is the device; its address is empty
/// if the folder is not below a PCI root.
PciFunction pci_function(std::string_view folder);

/// Whether two lists have a number in common.
bool lists_overlap(std::string_view first, std::string_view second);

}  // namespace rdmabench::inline v1::health

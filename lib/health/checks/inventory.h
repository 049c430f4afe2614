// The devices of a node, their PCI paths and their network devices. Only names and folders; the
// checks read the values. Private to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
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
  std::string unused;  ///< why it is listed and not judged; "" if it is judged
  bool named = false;  ///< a variable of a library names it

  bool infiniband() const { return link_layer == "InfiniBand"; }
  bool roce() const;
  /// What tells the places of a card's ports apart: "0:1", of function and port.
  std::string place() const;
};

enum class VerbsNode : std::uint8_t {
  unknown,  ///< a saved tree without facts
  missing,
  closed,  ///< it does not open
  opens,
};

struct RdmaDevice {
  std::string name;    ///< "mlx5_0"
  std::string driver;  ///< "mlx5", "efa", "rxe", ...; for others the kernel's name
  std::string folder;  ///< "sys/class/infiniband/mlx5_0"
  PciFunction pci;     ///< address is "" if there is none
  std::string parent;  ///< of a virtual function: the address of the physical one, if it is seen
  std::string verbs;   ///< "uverbs0"; "" for none
  VerbsNode node = VerbsNode::unknown;
  bool iwarp = false;
  std::string unused;  ///< why it is listed and not judged; "" if it is judged
  std::vector<RdmaPort> ports;

  bool physical() const { return !pci.address.empty(); }
};

inline bool RdmaPort::roce() const {
  return link_layer == "Ethernet" && !device->iwarp;
}

/// A PCI function that carries RDMA, or can.
struct RdmaFunction {
  PciFunction pci;
  std::string ids;      ///< "15b3:101d"
  std::string driver;   ///< of the network; "" for none
  std::string module;   ///< of the RDMA device: "mlx5_ib"
  bool always = false;  ///< by its class or ids; else that depends on its configuration
  bool is_virtual = false;
};

struct Gpu {
  PciFunction pci;
  bool nvidia = false;
};

/// What the checks examine.
struct Inventory {
  explicit Inventory(const FileTree& tree);
  Inventory& operator=(Inventory&&) = delete;

  /// Without the ConnectX-7 functions that manage an HGX board's NVLink switches.
  std::vector<RdmaDevice> devices;
  std::vector<Gpu> gpus;
  std::vector<RdmaFunction> rdma_functions;
  /// Of ConnectX-8: where a card that is Data Direct reaches a GPU's memory.
  std::vector<PciFunction> dma_functions;
  bool virtual_machine = false;

  /// The ports that are judged.
  std::vector<const RdmaPort*> ports_in_use() const;
  /// The network devices of RoCE ports in use, each once.
  std::vector<std::string> roce_interfaces() const;
};

/// Says of the ports and devices that are not meant to be used why. In this order: those that have
/// no device node here while others have; `ports` or `devices` that are expected; NCCL_IB_HCA and
/// UCX_NET_DEVICES. Then those that are down while another of their card is up, or that nobody
/// turned on; unless one is up in their place on a card of the kind, fewer are up than `rails`, or
/// a variable names them whole.
void choose_ports(Inventory& node, const FileTree& tree, const Expectations& expectations);

/// NCCL_IB_HCA and NCCL_SOCKET_IFNAME: "^" means all others, then "=" means whole names in place of
/// beginnings; after a name ":PORT:RAIL:PLANE". Source: NCCL src/misc/utils.cc parseStringList(),
/// matchIfList(); src/transport/net_ib.
struct NcclList {
  explicit NcclList(std::string_view text);

  struct Item {
    std::string name, port;  ///< port is "" for any
  };
  std::vector<Item> items;
  bool without = false;
  bool exact = false;

  /// Whether an item is of that device or network device; `port` is "" for any.
  bool is(const Item& item, std::string_view name, std::string_view port) const;
  /// Whether NCCL takes it; all are taken where there is no item.
  bool takes(std::string_view name, std::string_view port = {}) const;
};

/// A listed environment variable of the process that ran the doctor, or one of NCCL that its files
/// set; none if neither. `read` gives the bytes of a file of the tree.
template <class Read>
std::optional<std::string> variable(std::string_view name, Read read) {
  const auto find = [&](const std::string& bytes, bool after_tab) -> std::optional<std::string> {
    for (const std::string_view line : rdmabench::lines_of(bytes)) {
      const std::string_view set = after_tab ? line.substr(line.find('\t') + 1) : line;
      if (set.starts_with(name) && set.substr(name.size()).starts_with('=')) {
        return std::string(set.substr(name.size() + 1));
      }
    }
    return std::nullopt;
  };
  auto found = find(read("rdmabench/environment"), false);
  if (found || !name.starts_with("NCCL_")) return found;
  return find(read("rdmabench/nccl_files"), true);
}

/// The functions on the path to a folder of sysfs. The last one is the device; its address is empty
/// if the folder is not below a PCI root.
PciFunction pci_function(std::string_view folder);

/// Whether two lists have a number in common.
bool lists_overlap(std::string_view first, std::string_view second);

}  // namespace rdmabench::inline v1::health

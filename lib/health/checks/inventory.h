// The devices of a node, their PCI paths and network devices, and what tells them apart. What only
// its own check judges, that check reads. Private to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gid.h"
#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {

/// A PCI function. In sysfs its folder is below that of the bridge above it.
struct PciFunction {
  std::string address;             ///< "0000:98:00.0"
  std::string folder;              ///< "sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0"
  std::vector<PciFunction> above;  ///< bridges, the root port first; empty in `above` itself

  /// "0000:98:00", of all functions of one card there.
  std::string slot() const { return address.substr(0, address.rfind('.')); }
};

struct RdmaDevice;

struct RdmaPort {
  std::string number;      ///< "1"
  std::string name;        ///< "mlx5_0:1"
  std::string folder;      ///< ".../ports/1"
  std::string link_layer;  ///< "InfiniBand", "Ethernet", "Unspecified"; "" if unknown
  std::string interface;   ///< the network device; "" for none
  std::string state;       ///< "4: ACTIVE"; "" if unknown
  std::vector<Gid> gids;   ///< of Ethernet, but zeros, by index
  const RdmaDevice* device = nullptr;
  std::string unused;  ///< why it is listed and not judged; "" if it is judged
  bool named = false;  ///< a variable of a library names it

  bool infiniband() const { return link_layer == "InfiniBand"; }
  bool active() const { return state.starts_with("4:"); }
  bool roce() const;
  /// Whether both are ports of the same kind of card, on links of the same kind.
  bool same_board(const RdmaPort& other) const;
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
  std::string board;   ///< board_id; "" if unknown
  std::string card;    ///< sys_image_guid, of all functions of one card; "" if unknown or zero
  VerbsNode node = VerbsNode::unknown;
  bool iwarp = false;
  std::string unused;  ///< why it is listed and not judged; "" if it is judged
  std::vector<RdmaPort> ports;

  bool physical() const { return !pci.address.empty(); }
};

inline bool RdmaPort::roce() const {
  return link_layer == "Ethernet" && !device->iwarp;
}

inline bool RdmaPort::same_board(const RdmaPort& other) const {
  return !device->board.empty() && device->board == other.device->board &&
         link_layer == other.link_layer;
}

/// A PCI function that carries RDMA, or can.
struct RdmaFunction {
  PciFunction pci;
  std::string ids;        ///< "15b3:101d"
  std::string driver;     ///< of the network; "" for none
  std::string module;     ///< of the RDMA device: "mlx5_ib"
  bool recovery = false;  ///< a card without firmware
  bool always = false;    ///< by its class or ids; else that depends on its configuration
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
  std::size_t nvswitches = 0;  ///< PCI functions of switches of an NVLink board
  bool virtual_machine = false;
  std::set<std::string> addresses;  ///< its own of IPv4, where there is an RDMA device

  /// The ports that are judged.
  std::vector<const RdmaPort*> ports_in_use() const;
  /// The network devices of RoCE ports in use, each once.
  std::vector<std::string> roce_interfaces() const;
};

/// Says of the ports and devices that are not meant to be used why. In this order: those that have
/// no device node here while others have; `ports` or `devices` that are expected; NCCL_IB_HCA and
/// UCX_NET_DEVICES. Then those that lead into a card's own switch, that are down while another of
/// their card is up, or that nobody turned on; unless one is up in their place on a card of the
/// kind, fewer are up than `rails`, or a variable names them whole.
void choose_ports(Inventory& node, const FileTree& tree, const Expectations& expectations);

/// The functions on the path to a folder of sysfs. The last one is the device; its address is empty
/// if the folder is not below a PCI root.
PciFunction pci_function(std::string_view folder);

/// Whether two lists have a number in common.
bool lists_overlap(std::string_view first, std::string_view second);

}  // namespace rdmabench::inline v1::health

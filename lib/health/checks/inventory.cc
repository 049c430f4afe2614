#include "inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "base/pci_path.h"
#include "base/rdma_driver.h"
#include "text.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::size_t kMostDevices = 256;

std::string driver_of(const FileTree& tree, const std::string& folder) {
  const std::string driver = tree.link_name(folder + "/device/driver");
  if (driver.empty()) return tree.exists(folder + "/parent") ? "rxe" : "";
  return rdma_driver(driver);
}

/// Of the first GID whose network device is in this namespace, else of the first entry.
std::string interface_of_gids(const FileTree& tree, const RdmaPort& port) {
  for (const Gid& gid : port.gids) {
    if (!gid.interface.empty() && !gid.foreign) return gid.interface;
  }
  return one_line(tree.read(port.folder + "/gid_attrs/ndevs/0").bytes);
}

/// Pods call their network devices alike, so a name may be another's: of a port that has IPv4
/// addresses of this node, others are foreign.
void find_foreign_addresses(std::vector<Gid>& gids, const std::set<std::string>& own) {
  const auto is_own = [&](const Gid& gid) { return own.count(gid.address()) != 0; };
  const bool any = std::any_of(gids.begin(), gids.end(), [&](const Gid& gid) {
    return gid.ipv4() && !gid.foreign && is_own(gid);
  });
  if (!any) return;
  for (Gid& gid : gids) gid.foreign = gid.foreign || (gid.ipv4() && !is_own(gid));
}

std::string interface_of(const FileTree& tree, const RdmaDevice& device, const RdmaPort& port) {
  std::string name;
  if (port.link_layer == "Ethernet") name = interface_of_gids(tree, port);
  if (name.empty() && !device.physical())
    name = one_line(tree.read(device.folder + "/parent").bytes);
  if (!name.empty()) return name.find('/') == std::string::npos ? name : "";
  for (const std::string& candidate : tree.list(device.folder + "/device/net")) {
    const std::string folder = device.folder + "/device/net/" + candidate;
    const auto number = to_number(one_line(tree.read(folder + "/dev_port").bytes));
    if (number && std::to_string(*number + 1) == port.number) return candidate;
  }
  return "";
}

RdmaDevice rdma_device(const FileTree& tree, const std::string& name,
                       const std::set<std::string>& own) {
  RdmaDevice device;
  device.name = name;
  device.folder = "sys/class/infiniband/" + name;
  device.driver = driver_of(tree, device.folder);
  device.pci = pci_function(tree.resolve(device.folder + "/device"));
  device.parent = tree.link_name(device.folder + "/device/physfn");
  device.board = one_line(tree.read(device.folder + "/board_id").bytes);
  device.card = one_line(tree.read(device.folder + "/sys_image_guid").bytes);
  if (device.card.find_first_not_of("0:") == std::string::npos) device.card.clear();
  device.iwarp = one_line(tree.read(device.folder + "/node_type").bytes).starts_with("4:");
  for (const std::string& number : tree.list(device.folder + "/ports")) {
    if (!to_number(number) || device.ports.size() == kMostDevices) continue;
    RdmaPort port;
    port.number = number;
    port.name = name + ':' + number;
    port.folder = device.folder + "/ports/" + number;
    port.link_layer = one_line(tree.read(port.folder + "/link_layer").bytes);
    port.state = one_line(tree.read(port.folder + "/state").bytes);
    if (port.link_layer == "Ethernet") {
      port.gids = read_gids(tree, port.folder);
      find_foreign_addresses(port.gids, own);
    }
    port.interface = interface_of(tree, device, port);
    device.ports.push_back(std::move(port));
  }
  return device;
}

/// Display controllers, 3D controllers and accelerators of NVIDIA and AMD; of Intel only those
/// without a display, because integrated graphics do not count. Source: PCI Code and ID Assignment
/// 1.16, class codes 03h and 12h.
bool is_gpu(std::string_view vendor, std::uint64_t kind) {
  const std::uint64_t base = kind >> 16;
  if (vendor == "0x10de") return base == 0x03;
  if (vendor == "0x1002") return base == 0x03 || base == 0x12;
  return vendor == "0x8086" && (kind >> 8) == 0x0380;
}

/// InfiniBand controllers by class, and Elastic Fabric Adapters by their ids. Not Ethernet
/// functions: whether they carry RDMA depends on their configuration.
bool always_rdma(std::string_view vendor, std::string_view device, std::uint64_t kind) {
  if ((kind >> 8) == 0x0207) return true;
  return vendor == "0x1d0f" && device.starts_with("0xefa");
}

/// A ConnectX or BlueField whose firmware cannot start: its function is a memory controller, and
/// only its flash can be reached. Source: pci.ids, 15b3, "Flash Recovery"; ids above are switches'.
bool is_without_firmware(std::string_view vendor, std::uint64_t device, std::uint64_t kind) {
  return vendor == "0x15b3" && device >= 0x0191 && device <= 0x0221 && (kind >> 8) == 0x0580;
}

struct Companion {
  std::string_view driver, module;
};

/// Of drivers whose RDMA device comes from another module. Source: Linux drivers/infiniband/hw,
/// the auxiliary drivers' tables of ids.
constexpr std::array<Companion, 10> kCompanions{{{"mlx5_core", "mlx5_ib"},
                                                 {"mlx4_core", "mlx4_ib"},
                                                 {"bnxt_en", "bnxt_re"},
                                                 {"ionic", "ionic_rdma"},
                                                 {"ice", "irdma"},
                                                 {"i40e", "irdma"},
                                                 {"mana", "mana_ib"},
                                                 {"hns3", "hns_roce_hw_v2"},
                                                 {"cxgb4", "iw_cxgb4"},
                                                 {"qede", "qedr"}}};

/// The driver that a card of a vendor whose cards all do RDMA should have. Source: Linux
/// mlx4/main.c, mlx5/core/main.c and ionic_bus_pci.c, tables of ids.
std::string_view driver_for(std::string_view vendor, std::uint64_t device) {
  if (vendor == "0x15b3") return device < 0x1011 ? "mlx4_core" : "mlx5_core";
  if (vendor == "0x1dd8") return "ionic";
  return vendor == "0x1d0f" ? "efa" : "";
}

/// Of i40e's cards only those with an X722 do RDMA, of a Chelsio card function 4 alone, which is in
/// its id, and of Kunpeng's functions not all. Source: Linux i40e_devids.h; cxgb4/t4_pci_id_tbl.h;
/// hns3/hns3_enet.c, hns3_pci_tbl.
bool may_do_rdma(std::string_view driver, std::uint64_t device) {
  if (driver == "cxgb4") return (device >> 8 & 0xfU) == 4;
  if (driver == "hns3") return (device >= 0xa222 && device <= 0xa228) || device == 0xa22f;
  return driver != "i40e" || (device >= 0x37cc && device <= 0x37d3);
}

/// x86 tells by a flag of the processor, other machines by the names in the firmware's tables.
/// Source: systemd src/basic/virt.c, detect_vm_dmi_vendor() and detect_vm_dmi().
bool runs_on_hypervisor(const FileTree& tree) {
  const std::string flags = value_after(tree.read("proc/cpuinfo").bytes, "flags");
  if (!flags.empty()) return (' ' + flags + ' ').find(" hypervisor ") != std::string::npos;
  static constexpr std::string_view kVendors[]{"KVM",
                                               "OpenStack",
                                               "KubeVirt",
                                               "Amazon EC2",
                                               "QEMU",
                                               "VMware",
                                               "VMW",
                                               "innotek GmbH",
                                               "Xen",
                                               "Parallels",
                                               "BHYVE",
                                               "Hyper-V",
                                               "Bochs",
                                               "VirtualBox",
                                               "Google Compute Engine",
                                               "Apple Virtualization",
                                               "Alibaba Cloud"};
  const auto line = [&](std::string_view name) {
    return one_line(tree.read(fmt::format("sys/class/dmi/id/{}", name)).bytes);
  };
  const std::string product = line("product_name");
  if (product.find(".metal") != std::string::npos) return false;
  // Microsoft's is the name of its tablets' vendor too.
  if (product == "Virtual Machine") return true;
  for (const std::string& text :
       {product, line("sys_vendor"), line("bios_vendor"), line("product_version")}) {
    for (const std::string_view vendor : kVendors) {
      if (text.starts_with(vendor)) return true;
    }
  }
  return false;
}

/// A ConnectX-7 function that leads to the NVLink switches of an HGX B200 or B300 board, not to a
/// network. Only root may read that. Source: NVIDIA Fabric Manager user guide, NVLSM.
bool manages_nvswitch(const FileTree& tree, const RdmaDevice& device) {
  if (device.driver != "mlx5" || !device.physical()) return false;
  if (one_line(tree.read(device.pci.folder + "/device").bytes) != "0x1021") return false;
  return tree.read(device.pci.folder + "/vpd").bytes.find("SW_MNG") != std::string::npos;
}

}  // namespace

PciFunction pci_function(std::string_view folder) {
  PciFunction function;
  std::size_t begin = 0;
  while (begin < folder.size()) {
    const std::size_t end = std::min(folder.find('/', begin), folder.size());
    const std::string_view name = folder.substr(begin, end - begin);
    if (is_pci_address(name)) {
      if (!function.address.empty()) {
        function.above.push_back({function.address, function.folder, {}});
      }
      function.address = name;
      function.folder = folder.substr(0, end);
    }
    begin = end + 1;
  }
  return function;
}

Inventory::Inventory(const FileTree& tree) : virtual_machine(runs_on_hypervisor(tree)) {
  const std::vector<std::string> names = tree.list("sys/class/infiniband");
  if (!names.empty()) addresses = local_addresses(tree);
  for (const std::string& name : names) {
    if (devices.size() < kMostDevices) devices.push_back(rdma_device(tree, name, addresses));
  }
  for (const std::string& verbs : tree.list("sys/class/infiniband_verbs")) {
    const std::string name =
        one_line(tree.read("sys/class/infiniband_verbs/" + verbs + "/ibdev").bytes);
    for (RdmaDevice& device : devices) {
      if (device.name == name && device.verbs.empty()) device.verbs = verbs;
    }
  }
  const FileBytes nodes = tree.read("rdmabench/dev_nodes");
  for (RdmaDevice& device : devices) {
    for (RdmaPort& port : device.ports) port.device = &device;
    if (nodes.error != 0 || device.verbs.empty()) continue;
    const std::string state = value_after(nodes.bytes, "infiniband/" + device.verbs);
    device.node = state.empty()      ? VerbsNode::missing
                  : state == "opens" ? VerbsNode::opens
                                     : VerbsNode::closed;
  }
  for (const std::string& address : tree.list("sys/bus/pci/devices")) {
    const std::string folder = "sys/bus/pci/devices/" + address;
    const std::string kind_text = one_line(tree.read(folder + "/class").bytes);
    const auto kind = hex_number(kind_text);
    if (!kind) continue;
    const std::string vendor = one_line(tree.read(folder + "/vendor").bytes);
    const std::string device = one_line(tree.read(folder + "/device").bytes);
    const bool gpu = is_gpu(vendor, *kind);
    RdmaFunction rdma;
    const std::uint64_t sort = *kind >> 8;
    if (vendor == "0x10de" && sort == 0x0680) ++nvswitches;
    const std::uint64_t id = hex_number(device).value_or(0);
    rdma.recovery = is_without_firmware(vendor, id, *kind);
    rdma.always = rdma.recovery || always_rdma(vendor, device, *kind);
    if (sort == 0x0200 || sort == 0x0207 || sort == 0x0280 || rdma.always) {
      rdma.driver = tree.link_name(folder + "/driver");
      const std::string_view known =
          rdma.driver.empty() ? driver_for(vendor, id) : std::string_view(rdma.driver);
      const auto* const companion =
          std::find_if(kCompanions.begin(), kCompanions.end(),
                       [&](const Companion& one) { return one.driver == known; });
      if (companion != kCompanions.end() && may_do_rdma(known, id)) rdma.module = companion->module;
      if (rdma.driver.empty()) rdma.module = known;
    }
    const bool dma = vendor == "0x15b3" && device == "0x2100";
    if (!gpu && !dma && !rdma.always && rdma.module.empty()) continue;
    PciFunction function = pci_function(tree.resolve(folder));
    if (function.address.empty()) function = {address, folder, {}};
    if (gpu && gpus.size() < kMostDevices) gpus.push_back({function, vendor == "0x10de"});
    if (dma && dma_functions.size() < kMostDevices) dma_functions.push_back(function);
    if ((rdma.always || !rdma.module.empty()) && rdma_functions.size() < kMostDevices) {
      rdma.ids = fmt::format("{}:{}", vendor.substr(std::min<std::size_t>(2, vendor.size())),
                             device.substr(std::min<std::size_t>(2, device.size())));
      rdma.is_virtual = tree.exists(folder + "/physfn");
      rdma.pci = std::move(function);
      rdma_functions.push_back(std::move(rdma));
    }
  }
  // Reading it takes milliseconds, so only where it can matter.
  const bool nvidia =
      std::any_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.nvidia; });
  if (nvidia) {
    std::erase_if(devices,
                  [&](const RdmaDevice& device) { return manages_nvswitch(tree, device); });
  }
  for (RdmaDevice& device : devices) {
    for (RdmaPort& port : device.ports) port.device = &device;
  }
}

std::string RdmaPort::place() const {
  const std::string& address = device->pci.address;
  return address.substr(std::min(address.rfind('.') + 1, address.size())) + ':' + number;
}

std::vector<const RdmaPort*> Inventory::ports_in_use() const {
  std::vector<const RdmaPort*> ports;
  for (const RdmaDevice& device : devices) {
    for (const RdmaPort& port : device.ports) {
      if (port.unused.empty()) ports.push_back(&port);
    }
  }
  return ports;
}

std::vector<std::string> Inventory::roce_interfaces() const {
  std::vector<std::string> names;
  for (const RdmaPort* const port : ports_in_use()) {
    if (!port->roce() || port->interface.empty()) continue;
    if (std::find(names.begin(), names.end(), port->interface) == names.end()) {
      names.push_back(port->interface);
    }
  }
  return names;
}

bool lists_overlap(std::string_view first, std::string_view second) {
  bool found = false;
  for_each_range(first, [&](std::uint64_t low, std::uint64_t high) {
    for_each_range(second, [&](std::uint64_t other_low, std::uint64_t other_high) {
      found = found || (low <= other_high && other_low <= high);
    });
  });
  return found;
}

}  // namespace rdmabench::inline v1::health

// Which ports are meant to be used: what is expected or named, else the best guess.
#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "text.h"
#include "variables.h"

namespace rdmabench::inline v1::health {
namespace {

template <class Use>
void for_each_port(Inventory& node, Use use) {
  for (RdmaDevice& device : node.devices) {
    for (RdmaPort& port : device.ports) use(port);
  }
}

/// Leaves out the ports that `named` does not name, if it names one.
template <class Named>
void leave_out_others(Inventory& node, const std::string& reason, Named named) {
  bool any = false;
  for_each_port(node, [&](const RdmaPort& port) { any = any || named(port); });
  if (!any) return;
  for_each_port(node, [&](RdmaPort& port) {
    if (port.unused.empty() && !named(port)) port.unused = reason;
  });
}

/// Whether what is true of one should be true of the other: the same port of the same kind of card.
bool alike(const RdmaPort& one, const RdmaPort& other) {
  return one.device->driver == other.device->driver && one.place() == other.place() &&
         one.device->board == other.device->board && one.device->parent.empty() &&
         other.device->parent.empty();
}

/// Whether both are ports of one card: of one slot, or of functions that say so.
bool same_card(const RdmaPort& one, const RdmaPort& other) {
  return one.device == other.device ||
         (one.device->physical() && one.device->pci.slot() == other.device->pci.slot()) ||
         (!one.device->card.empty() && one.device->card == other.device->card);
}

/// Whether nobody turned on the network device of an Ethernet port: IFF_UP of netdevice(7).
bool turned_off(const FileTree& tree, const RdmaPort& port) {
  if (port.infiniband() || port.interface.empty()) return false;
  const auto flags =
      hex_number(one_line(tree.read("sys/class/net/" + port.interface + "/flags").bytes));
  return flags && (*flags & 1U) == 0;
}

/// Whether the port leads into the card's own switch (switchdev mode): such ones carry raw packets
/// alone, and can have no GID. Source: Linux mlx5/main.c, mlx5_port_rep_immutable(); mlx5/ib_rep.c.
bool leads_to_switch(const FileTree& tree, const RdmaPort& port) {
  const auto has_none = [](const RdmaPort& one) {
    return one.link_layer == "Ethernet" && one.gids.empty();
  };
  if (port.device->driver != "mlx5" || !has_none(port)) return false;
  const auto& ports = port.device->ports;
  if (ports.size() > 1) return std::all_of(ports.begin(), ports.end(), has_none);
  return !port.interface.empty() &&
         !tree.read("sys/class/net/" + port.interface + "/phys_switch_id").bytes.empty();
}

/// A port without a cable is no fault where another of its card is up or nobody turned it on. But a
/// rail that is down among others that are up is one, and so is a card of which nothing is up.
void guess(Inventory& node, const FileTree& tree) {
  std::vector<const RdmaPort*> up;
  for_each_port(node, [&](const RdmaPort& port) {
    if (port.unused.empty() && port.active()) up.push_back(&port);
  });
  if (up.empty()) return;
  for_each_port(node, [&](RdmaPort& port) {
    if (!port.unused.empty() || port.named) return;
    if (!port.state.starts_with("1:")) return;
    // Nobody but the fabric turns on a virtual function of InfiniBand, so it is a fault there.
    if (!port.device->parent.empty() && port.infiniband()) return;
    const bool rail = std::any_of(up.begin(), up.end(),
                                  [&](const RdmaPort* other) { return alike(port, *other); });
    if (rail) return;
    const auto sister = std::find_if(
        up.begin(), up.end(), [&](const RdmaPort* other) { return same_card(port, *other); });
    if (sister != up.end()) {
      port.unused =
          fmt::format("it is down, and {} of the same card is up: --expect ports=LIST or rails=N",
                      (*sister)->name);
    } else if (turned_off(tree, port)) {
      port.unused = fmt::format("nobody turned {} on, and {} is up: --expect ports=LIST or rails=N",
                                port.interface, up.front()->name);
    }
  });
}

}  // namespace

void choose_ports(Inventory& node, const FileTree& tree, const Expectations& expectations) {
  const auto opens = [](const RdmaDevice& device) { return device.node == VerbsNode::opens; };
  if (std::any_of(node.devices.begin(), node.devices.end(), opens)) {
    for (RdmaDevice& device : node.devices) {
      if (device.node == VerbsNode::missing) device.unused = "it was not handed in: no device node";
    }
  }
  const auto guid = [&](const RdmaDevice& device) {
    return one_line(tree.read(device.folder + "/node_guid").bytes);
  };
  // The planes of one port, for its subnet manager. Source: Linux mlx5/main.c
  // mlx5_ib_add_sub_dev().
  for (RdmaDevice& device : node.devices) {
    if (!device.verbs.empty() || !device.physical()) continue;
    for (const RdmaDevice& whole : node.devices) {
      if (whole.verbs.empty() || whole.pci.address != device.pci.address) continue;
      if (guid(whole) == guid(device))
        device.unused = "it is a device of " + whole.name + " for its planes";
    }
  }
  for_each_port(node, [&](RdmaPort& port) { port.unused = port.device->unused; });
  const Expectation* const ports = expectations.find("ports");
  const Expectation* const devices = expectations.find("devices");
  if (ports != nullptr || (devices != nullptr && !to_number(devices->value))) {
    const bool by_port = ports != nullptr;
    const UcxList list(by_port ? ports->value : devices->value);
    for_each_port(node, [&](RdmaPort& port) {
      if (!list.takes(port))
        port.unused = by_port ? "ports= names others" : "devices= names others";
    });
  } else {
    const auto read = [&](const char* path) { return tree.read(path).bytes; };
    const std::string nccl = variable("NCCL_IB_HCA", read).value_or("");
    const std::string ucx = variable("UCX_NET_DEVICES", read).value_or("");
    const NcclList list(nccl);
    const UcxList devices_of_ucx(ucx);
    const bool by_ucx = !ucx.empty() && ucx != "all";
    const auto named = [&](const RdmaPort& port) {
      return (!nccl.empty() && list.takes(port.device->name, port.number)) ||
             (by_ucx && devices_of_ucx.takes(port));
    };
    if (!nccl.empty() || by_ucx) {
      leave_out_others(node,
                       nccl.empty() ? "UCX_NET_DEVICES names others"
                       : by_ucx     ? "NCCL_IB_HCA and UCX_NET_DEVICES name others"
                                    : "NCCL_IB_HCA names others",
                       named);
    }
    for_each_port(node, [&](RdmaPort& port) {
      const auto whole = [&](const NcclList::Item& item) {
        return item.name == port.device->name && (item.port.empty() || item.port == port.number);
      };
      port.named = (by_ucx && !devices_of_ucx.without && devices_of_ucx.takes(port)) ||
                   (!list.without && std::any_of(list.items.begin(), list.items.end(), whole));
    });
    for_each_port(node, [&](RdmaPort& port) {
      if (port.unused.empty() && !port.named && leads_to_switch(tree, port)) {
        port.unused = "it leads into the card's own switch, for virtual and scalable functions";
      }
    });
    const Expectation* const rails = expectations.find("rails");
    std::uint64_t up = 0;
    for_each_port(node, [&](const RdmaPort& port) {
      if (port.unused.empty() && port.active()) ++up;
    });
    if (rails == nullptr || up >= to_number(rails->value).value_or(0)) guess(node, tree);
  }
  for (RdmaDevice& device : node.devices) {
    const bool all = std::all_of(device.ports.begin(), device.ports.end(),
                                 [](const RdmaPort& port) { return !port.unused.empty(); });
    if (all && !device.ports.empty()) device.unused = device.ports.front().unused;
  }
}

}  // namespace rdmabench::inline v1::health

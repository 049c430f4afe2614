// Which RDMA devices are present, and whether a program can use them.
#include <algorithm>
#include <array>
#include <map>

#include "device.h"
#include "variables.h"

namespace rdmabench::inline v1::health {

const ExpectationKey* wanted_of_device(Probe& probe) {
  for (const ExpectationKey& key : expectation_keys()) {
    if (key.of_device && probe.expectation(key.name) != nullptr) return &key;
  }
  return nullptr;
}

std::optional<std::uint64_t> number_of_devices(Probe& probe) {
  const Expectation* const wanted = probe.expectation("devices");
  return wanted != nullptr ? to_number(wanted->value) : std::nullopt;
}

namespace {

/// Not another container's.
bool here(const RdmaDevice& device) {
  return device.node != VerbsNode::missing || device.unused.empty();
}

/// On a node without a device no other check has a subject, whatever is expected.
void device_count(Probe& probe) {
  const auto& all = probe.node().devices;
  const auto devices = static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](const RdmaDevice& device) { return here(device); }));
  probe.observe(std::to_string(devices));
  probe.skip(std::string(kNothingToCompare));
  if (const auto wanted = number_of_devices(probe)) {
    probe.compare("devices", std::to_string(devices), Status::fail);
    if (devices > *wanted) probe.warn();
    return;
  }
  const ExpectationKey* const key = wanted_of_device(probe);
  if (devices > 0 || key == nullptr) return;
  const Expectation& expected = *probe.expectation(key->name);
  probe.expect(fmt::format("1 or more, because of {}={}", key->name, expected.value),
               expected.source);
  probe.fail();
}

/// The ports and devices that are named, and as many ports as there should be.
void expected_ports(Probe& probe) {
  const std::size_t ports = probe.node().ports_in_use().size();
  const Expectation* const rails = probe.expectation("rails");
  probe.observe(fmt::format("{} ports in use", ports));
  for (const char* const key : {"ports", "devices"}) {
    const Expectation* const list = probe.expectation(key);
    if (list == nullptr || to_number(list->value)) continue;
    probe.expect(list->value, list->source);
    std::string missing;
    for (const std::string& name : UcxList(list->value).names) {
      const auto& devices = probe.node().devices;
      const bool there = std::any_of(devices.begin(), devices.end(), [&](const RdmaDevice& device) {
        return device.name == name ||
               std::any_of(device.ports.begin(), device.ports.end(),
                           [&](const RdmaPort& port) { return port.name == name; });
      });
      if (!there) missing += ' ' + name;
    }
    probe.pass();
    if (missing.empty()) continue;
    probe.observe("missing:" + missing);
    return probe.fail();
  }
  if (rails == nullptr) {
    if (probe.status() != Status::pass) probe.skip(std::string(kNothingToCompare));
    return;
  }
  probe.expect(rails->value + " ports", rails->source);
  probe.judge_by(ports >= to_number(rails->value).value_or(0), Status::fail);
}

/// A container has sysfs of the host, with all its devices, and the device nodes that were handed
/// in.
void handed_in(Probe& probe) {
  const auto& devices = probe.node().devices;
  if (devices.empty()) return probe.skip("this node has no RDMA device");
  if (!probe.text("rdmabench/dev_nodes")) {
    return probe.skip("the device nodes were not opened: this is a saved tree without facts",
                      Skipped::unread);
  }
  std::string names;
  std::size_t missing = 0;
  bool efa_alone = true;  // which no variable names: NCCL's own transport takes none
  for (const RdmaDevice& device : devices) {
    if (!device.unused.empty() && device.verbs.empty()) continue;  // it has none anywhere
    const bool there = device.node == VerbsNode::opens || device.node == VerbsNode::closed;
    if (there) names += (names.empty() ? "" : ",") + device.name;
    if (there) efa_alone = efa_alone && device.driver == "efa";
    if (!there) ++missing;
  }
  const NcclList list(environment(probe, "NCCL_IB_HCA").value_or(""));
  const bool named =
      !list.items.empty() && std::none_of(devices.begin(), devices.end(), [&](const auto& device) {
        return device.node == VerbsNode::missing && list.takes(device.name, "1");
      });
  probe.expect("a device node for each device, or NCCL_IB_HCA without those that have none",
               Source::standard);
  probe.observe(missing == 0    ? fmt::format("all {} devices", devices.size())
                : names.empty() ? fmt::format("none of {} devices", devices.size())
                                : fmt::format("{} of {} devices", names, devices.size()));
  if (names.empty()) return probe.fail();
  probe.judge_by(missing == 0 || named || efa_alone, Status::warn,
                 fmt::format("Name what was handed to this container: NCCL_IB_HCA=={} "
                             "UCX_NET_DEVICES={}:1.",
                             names, names.substr(0, names.find(','))));
}

/// "opens", or the errno's name; "" if it is missing, none if it was not tried.
std::optional<std::string> opening(Probe& probe, const std::string& node) {
  const auto facts = probe.text("rdmabench/dev_nodes");
  if (!facts) {
    probe.skip("the device nodes were not opened: this is a saved tree without facts",
               Skipped::unread);
    return std::nullopt;
  }
  return value_after(*facts, "infiniband/" + node);
}

void uverbs(Probe& probe, const RdmaDevice& device) {
  probe.expect("a device node that opens", Source::standard);
  const std::string& node = device.verbs;
  if (node.empty()) {
    probe.observe("no uverbs device");
    return probe.fail("Load the module: modprobe ib_uverbs.");
  }
  const auto state = opening(probe, node);
  if (!state) return;
  probe.observe(fmt::format("/dev/infiniband/{} {}", node,
                            state->empty()      ? "is not there"
                            : *state == "opens" ? "opens"
                                                : "does not open: " + *state));
  // Of a cgroup of devices, where the node is there and its mode allows it.
  probe.judge_by(*state == "opens", Status::fail,
                 *state == "EPERM"
                     ? "This container was not given the device: remove a mount of all "
                       "of /dev/infiniband, and let the device plugin hand in nodes."
                     : "");
}

void rdma_cm(Probe& probe) {
  const auto& devices = probe.node().devices;
  const bool wanted = std::any_of(devices.begin(), devices.end(), [](const RdmaDevice& device) {
    return device.driver != "efa" &&
           (device.node == VerbsNode::opens || device.node == VerbsNode::unknown);
  });
  if (!wanted) return probe.skip("no device that opens uses the RDMA connection manager");
  const auto state = opening(probe, "rdma_cm");
  if (!state) return;
  probe.judge_by(*state == "opens", Status::warn,
                 "/dev/infiniband/rdma_cm " + (state->empty() ? "is not there" : *state),
                 "a device node that opens", Source::standard);
}

void names(Probe& probe, const RdmaDevice& device) {
  if (!device.physical()) return probe.skip(std::string(kNoFunction));
  // Linux erdma_main.c, erdma_enum_and_get_netdev().
  if (device.driver == "erdma")
    return probe.skip("erdma takes the network device of its MAC address");
  std::string observed;
  for (const RdmaPort& port : device.ports) {
    if (port.interface.empty()) continue;
    const std::string folder = probe.resolve("sys/class/net/" + port.interface + "/device");
    const PciFunction function = pci_function(folder);
    if (function.address.empty()) continue;  // a bond or a VLAN has several functions
    observed +=
        fmt::format("{}{} at {}", observed.empty() ? "" : ", ", port.interface, function.address);
    probe.expect("the PCI function of the device, " + device.pci.address, Source::derived);
    probe.observe(observed);
    // Linux pvrdma_main.c: its network device is function 0 of the slot.
    const bool same = device.driver == "pvrdma" ? function.slot() == device.pci.slot()
                                                : function.address == device.pci.address;
    if (!same) return probe.fail();
  }
  if (observed.empty()) return probe.skip("no network device belongs to it alone");
  probe.pass();
}

void firmware(Probe& probe, const RdmaDevice& device) {
  const auto version = probe.line(device.folder + "/fw_ver");
  if (!version) return;
  probe.compare("firmware", *version);
  if (probe.expectation("firmware") != nullptr) return;
  if (device.board.empty()) return;
  std::map<std::string, std::size_t> counts;  // of the cards of this board
  std::size_t cards = 0;
  for (const RdmaDevice& other : probe.node().devices) {
    if (other.board != device.board) continue;
    const std::string theirs = probe.try_line(other.folder + "/fw_ver");
    if (theirs.empty()) continue;
    ++counts[theirs];
    ++cards;
  }
  if (cards < 2) return;
  std::size_t most = 0;
  std::string listed;
  for (const auto& [theirs, count] : counts) {
    most = std::max(most, count);
    listed += fmt::format("{}{} ({})", listed.empty() ? "" : ", ", theirs, count);
  }
  const auto usual =
      std::ranges::find_if(counts, [most](const auto& one) { return one.second == most; });
  const bool clear = 2 * most > cards;
  probe.expect(clear ? fmt::format("{}, as {} of {} of this board have", usual->first, most, cards)
                     : fmt::format("one firmware on all {} of this board, not {}", cards, listed),
               Source::derived);
  probe.judge_by(clear && *version == usual->first, Status::warn);
}

void guid(Probe& probe, const RdmaDevice& device) {
  if (device.driver == "efa") return probe.skip("EFA has no node GUID to rely on");
  const auto own = probe.line(device.folder + "/node_guid");
  if (!own) return;
  probe.observe(*own);
  probe.expect("one that is not zero and no other device has", Source::standard);
  if (own->find_first_not_of("0:") == std::string::npos) {
    // One that the host gave none is down, and port.state tells of both.
    const bool down = std::any_of(device.ports.begin(), device.ports.end(), [&](const auto& port) {
      return port.infiniband() && !port.active();
    });
    if (!device.parent.empty() && down) {
      return probe.skip("a virtual function that is down: see port.state");
    }
    const bool ethernet = std::any_of(device.ports.begin(), device.ports.end(),
                                      [](const RdmaPort& port) { return port.roce(); });
    if (!ethernet) return probe.fail();
    probe.observe(*own + ", so rdma_cm does not know the device");
    return probe.warn(
        "On the host: ip link set PF vf N mac MAC, then unbind and bind the virtual "
        "function: its GUID is made of its MAC address.");
  }
  for (const RdmaDevice& other : probe.node().devices) {
    if (&other == &device || other.verbs.empty() != device.verbs.empty()) continue;
    if (probe.try_line(other.folder + "/node_guid") != *own) continue;
    probe.observe(fmt::format("{}, and {} has the same", *own, other.name));
    return probe.fail();
  }
  probe.pass();
}

/// Programs that take RoCE or InfiniBand alike cannot connect over both iWARP and another.
void mixed(Probe& probe) {
  std::string iwarp;
  bool others = false;
  for (const RdmaPort* const port : probe.node().ports_in_use()) {
    if (!port->device->iwarp) {
      others = true;
    } else if (iwarp.find(port->device->name) == std::string::npos) {
      iwarp += (iwarp.empty() ? "" : ",") + port->device->name;
    }
  }
  if (iwarp.empty()) return probe.skip("this node has no iWARP");
  probe.observe(iwarp + (others ? " beside others" : " alone"));
  const bool gpus = !probe.node().gpus.empty();
  probe.expect(others || !gpus ? "devices of one transport"
                               : "InfiniBand or RoCE: UCX refuses iWARP, and NCCL cannot connect",
               Source::derived);
  probe.judge_by(
      !others && !gpus, Status::warn,
      fmt::format("{}witch a card that can (E810) to RoCE: devlink dev param set pci/ADDRESS name "
                  "enable_roce value true cmode runtime, with Intel's own driver modprobe irdma "
                  "roce_ena=1.",
                  others ? fmt::format("Leave it out: NCCL_IB_HCA=^{}; or s", iwarp) : "S"));
}

/// Of the chip and, on mlx5, of the module in its port. Source: Linux mlx5/core/hwmon.c.
void temperature(Probe& probe, const PciFunction& function) {
  constexpr std::uint64_t kMargin = 5000;  // thousandths of a degree
  std::string all;
  for (const std::string& monitor : probe.list(function.folder + "/hwmon")) {
    const std::string folder = function.folder + "/hwmon/" + monitor;
    for (const std::string& file : probe.list(folder)) {
      if (!file.starts_with("temp") || !file.ends_with("_input")) continue;
      const std::string stem = folder + '/' + file.substr(0, file.find('_'));
      const auto now = probe.try_number(stem + "_input");
      const auto most = probe.try_number(stem + "_crit");
      if (!now || !most || *most == 0) continue;
      const std::string seen = fmt::format("{} {} C", probe.try_line(stem + "_label"), *now / 1000);
      if (*now + kMargin >= *most) {
        return probe.judge_by(false, *now >= *most ? Status::fail : Status::warn, seen,
                              fmt::format("5 C or more below {} C", *most / 1000), Source::derived);
      }
      all += (all.empty() ? "" : ", ") + seen;
    }
  }
  if (all.empty()) return probe.skip("the driver tells no temperature and limit");
  probe.judge_by(true, Status::pass, all, "5 C or more below their limits", Source::derived);
}

constexpr auto kDeviceRows = std::to_array<Check>({
    {{.id = "device.count",
      .title = "Number of RDMA devices",
      .reads = "sys/class/infiniband",
      .rests_on = "device.registered",
      .rule =
          "FAIL with fewer than expected, or none where something of devices is; WARN with more",
      .remedy =
          "Look for the missing device with lspci; load its driver, reseat it, or hand it to the container.",
      .source = "facebookresearch/gcm health_checks/checks/check_hca.py",
      .as_cause = "has too few RDMA devices",
      .action = action::kReseat,
      .compares = true},
     device_count},
    {{.id = "device.registered",
      .title = "RDMA devices of the PCI functions",
      .reads =
          "sys/bus/pci/devices/*/{class,vendor,device,driver,driver_override,infiniband,physfn}, sys/module/*",
      .rule =
          "WARN if a network function of a card that does RDMA has no RDMA device, and another of its kind has one "
          "or none has; FAIL if devices are expected, for InfiniBand and EFA, and for a card without firmware; not of virtual "
          "functions, of vfio-pci, with a driver_override, in a bond with its sister, and of containers",
      .remedy =
          "Load the driver of that PCI function (mlx5_ib, efa) and read the kernel's log for why it failed.",
      .source =
          "PCI Code and ID Assignment, class 02h; Linux drivers/infiniband/hw, mlx5/core/lag/lag.c; pci.ids",
      .as_cause = "lacks a driver for RDMA"},
     registered},
    {{.id = "device.ports",
      .title = "The ports and devices that are expected",
      .reads = "sys/class/infiniband",
      .rests_on = "device.count",
      .rule = "FAIL without one that --expect ports= or devices= names, or with fewer than rails=",
      .remedy = "Look with 'rdmabench devices' what the ports are called here.",
      .source = "sysfs-class-infiniband"},
     expected_ports},
    {{.id = "device.nodes",
      .title = "Device nodes of this namespace",
      .reads = "sys/class/infiniband_verbs/*/ibdev, /dev/infiniband/uverbs*",
      .rule =
          "FAIL without any; WARN if some devices have none, unless NCCL_IB_HCA leaves them out",
      .remedy =
          "Load the module: modprobe ib_uverbs; start a container with --device=/dev/infiniband.",
      .source = "rdma-core Documentation/udev.md; rdma-system(8)",
      .as_cause = "has no device node of RDMA"},
     handed_in},
    {{.id = "device.uverbs",
      .title = "Opening the device",
      .reads = "sys/class/infiniband_verbs/*/ibdev, /dev/infiniband/uverbs*",
      .rests_on = "device.nodes",
      .rule = "FAIL without a node, or if it does not open",
      .remedy = "Load ib_uverbs; allow users to read and write the node; start a container with "
                "--device=/dev/infiniband.",
      .source = "rdma-core Documentation/udev.md",
      .as_cause = "does not open"},
     uverbs},
    {{.id = "device.rdma_cm",
      .title = "Opening the RDMA connection manager",
      .reads = "/dev/infiniband/rdma_cm",
      .rule = "WARN if it does not open; SKIP on EFA",
      .remedy =
          "Load the module: modprobe rdma_ucm; in a container add --device=/dev/infiniband/rdma_cm.",
      .source = "rdma_cm(7)"},
     rdma_cm},
    {{.id = "device.names",
      .title = "Card of the network device",
      .reads = "N/device, D",
      .rule = "FAIL if the port's network device is on another PCI function",
      .remedy =
          "Name the devices by PCI address in udev, and look for a container with a foreign one.",
      .source = "facebookresearch/gcm health_checks/checks/check_iblink.py, MLX5_MISMATCH"},
     names},
    {{.id = "device.firmware",
      .title = "Firmware",
      .reads = "sys/class/infiniband/*/{fw_ver,board_id}",
      .rule = "WARN if not the expected one, or unlike most devices of the same board",
      .remedy = "Bring all cards to one firmware with the vendor's tool, and restart the node.",
      .source = "facebookresearch/gcm health_checks/checks/check_hca.py",
      .action = action::kUpdateSoftware,
      .compares = true},
     firmware},
    {{.id = "device.guid",
      .title = "Node GUID",
      .reads = "sys/class/infiniband/*/node_guid, D/physfn, P/state",
      .rule =
          "FAIL if it is twice on the node, or zero; WARN if it is zero on Ethernet; SKIP if it is zero of a virtual function that "
          "is down",
      .remedy =
          "Give the virtual function a GUID: ip link set ... vf N node_guid; or restart the driver.",
      .source = "InfiniBand specification 1.7, 3.5.1; sriov-network-operator issue 237"},
     guid},
    {{.id = "device.mixed",
      .title = "Transports of the devices",
      .reads = "sys/class/infiniband/*/node_type",
      .rule = "WARN if iWARP is beside InfiniBand or RoCE, or alone on a node with GPUs",
      .remedy = "Leave the odd one out of the job: NCCL_IB_HCA, UCX_NET_DEVICES, or --device.",
      .source =
          "Linux networking/devlink/ice.rst, irdma/verbs.c irdma_modify_qp; UCX src/uct/ib/base/ib_md.c; NCCL src/transport/net_ib/init.cc"},
     mixed},
    {{.id = "device.temperature",
      .title = "Heat of the card and its module",
      .reads = "D/hwmon/hwmon*/temp*_{input,crit,label}",
      .rule = "FAIL at its limit, WARN 5 C below",
      .remedy = "Look at fans, air flow and the module's heat sink.",
      .source = "Linux mlx5/core/hwmon.c, Documentation/hwmon/sysfs-interface.rst",
      .action = action::kAskVendor},
     temperature},
});

}  // namespace

constinit const std::span<const Check> kDeviceChecks = kDeviceRows;

}  // namespace rdmabench::inline v1::health

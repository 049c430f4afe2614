// Which RDMA devices are present, and whether a program can use them.
#include <algorithm>
#include <array>
#include <set>

#include "base/port_rate.h"
#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

/// The first thing of a device that is expected; null if none is.
const ExpectationKey* wanted_of_device(Probe& probe) {
  for (const ExpectationKey& key : expectation_keys()) {
    if (key.of_device && probe.expectation(key.name) != nullptr) return &key;
  }
  return nullptr;
}

/// On a node without a device no other check has a subject, whatever is expected.
void device_count(Probe& probe) {
  const std::size_t devices = probe.node().devices.size();
  probe.compare("devices", std::to_string(devices), Status::fail);
  const Expectation* const wanted = probe.expectation("devices");
  if (wanted != nullptr) {
    if (devices > to_number(wanted->value).value_or(devices)) probe.warn();
    return;
  }
  const ExpectationKey* const key = wanted_of_device(probe);
  if (devices > 0 || key == nullptr) return;
  const Expectation& expected = *probe.expectation(key->name);
  probe.expect(fmt::format("1 or more, because of {}={}", key->name, expected.value),
               expected.source);
  probe.fail();
}

void registered(Probe& probe) {
  const std::vector<PciFunction>& functions = probe.node().rdma_functions;
  if (functions.empty()) {
    return probe.skip("no PCI function of this node is one that always carries RDMA");
  }
  std::string missing;
  for (const PciFunction& function : functions) {
    if (probe.list(function.folder + "/infiniband").empty()) missing += ' ' + function.address;
  }
  probe.judge_by(missing.empty(), Status::fail,
                 missing.empty() ? fmt::format("all {}", functions.size()) : "none for" + missing,
                 fmt::format("an RDMA device for each of {} PCI functions", functions.size()),
                 Source::derived);
}

/// The name of the device's node below /dev/infiniband; "" for none.
std::string uverbs_of(Probe& probe, const RdmaDevice& device) {
  for (const std::string& name : probe.list("sys/class/infiniband_verbs")) {
    if (!name.starts_with("uverbs")) continue;
    if (probe.try_line("sys/class/infiniband_verbs/" + name + "/ibdev") == device.name) return name;
  }
  return "";
}

/// "opens", or the errno's name; "" if it is missing, none if it was not tried.
std::optional<std::string> opening(Probe& probe, const std::string& node) {
  const auto facts = probe.text("rdmabench/dev_nodes");
  if (!facts) {
    probe.skip("the device nodes were not opened: this is a saved tree without facts");
    return std::nullopt;
  }
  return value_after(*facts, "infiniband/" + node);
}

void uverbs(Probe& probe, const RdmaDevice& device) {
  probe.expect("a device node that opens", Source::standard);
  const std::string node = uverbs_of(probe, device);
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
  probe.judge_by(*state == "opens", Status::fail);
}

void rdma_cm(Probe& probe) {
  const auto& devices = probe.node().devices;
  const bool wanted = std::any_of(devices.begin(), devices.end(),
                                  [](const RdmaDevice& device) { return device.driver != "efa"; });
  if (!wanted) return probe.skip("no device here uses the RDMA connection manager");
  const auto state = opening(probe, "rdma_cm");
  if (!state) return;
  probe.judge_by(*state == "opens", Status::warn,
                 "/dev/infiniband/rdma_cm " + (state->empty() ? "is not there" : *state),
                 "a device node that opens", Source::standard);
}

void abi(Probe& probe) {
  if (probe.node().devices.empty()) return probe.skip("this node has no RDMA device");
  const auto version = probe.number("sys/class/infiniband_verbs/abi_version");
  if (!version) return;
  probe.judge_by(*version == 6, Status::fail, std::to_string(*version), "6", Source::standard);
}

void umad_abi(Probe& probe) {
  const auto& devices = probe.node().devices;
  const bool wanted = std::any_of(devices.begin(), devices.end(), [](const RdmaDevice& device) {
    return std::any_of(device.ports.begin(), device.ports.end(),
                       [](const RdmaPort& port) { return port.infiniband(); });
  });
  if (!wanted) return probe.skip("this node has no InfiniBand port");
  probe.expect("5", Source::standard);
  const auto version = probe.number("sys/class/infiniband_mad/abi_version");
  if (!version) return;
  probe.observe(std::to_string(*version));
  probe.judge_by(*version == 5, Status::warn);
}

void names(Probe& probe, const RdmaDevice& device) {
  if (!device.physical()) return probe.skip(std::string(kNoFunction));
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
    if (function.address != device.pci.address) return probe.fail();
  }
  if (observed.empty()) return probe.skip("no network device belongs to it alone");
  probe.pass();
}

void firmware(Probe& probe, const RdmaDevice& device) {
  const auto version = probe.line(device.folder + "/fw_ver");
  if (!version) return;
  probe.compare("firmware", *version);
  if (probe.expectation("firmware") != nullptr) return;
  const std::string board = probe.try_line(device.folder + "/board_id");
  std::size_t alike = 0;
  for (const RdmaDevice& other : probe.node().devices) {
    if (&other == &device || board.empty()) continue;
    if (probe.try_line(other.folder + "/board_id") != board) continue;
    const std::string theirs = probe.try_line(other.folder + "/fw_ver");
    probe.expect(fmt::format("{}, as {} of the same board has", theirs, other.name),
                 Source::derived);
    if (theirs != *version) return probe.warn();
    ++alike;
  }
  if (alike > 0) probe.pass();
}

void guid(Probe& probe, const RdmaDevice& device) {
  if (device.driver == "efa") return probe.skip("EFA has no node GUID to rely on");
  const auto own = probe.line(device.folder + "/node_guid");
  if (!own) return;
  probe.observe(*own);
  probe.expect("one that is not zero and no other device has", Source::standard);
  if (own->find_first_not_of("0:") == std::string::npos) return probe.fail();
  for (const RdmaDevice& other : probe.node().devices) {
    if (&other == &device || probe.try_line(other.folder + "/node_guid") != *own) continue;
    probe.observe(fmt::format("{}, and {} has the same", *own, other.name));
    return probe.fail();
  }
  probe.pass();
}

void mixed(Probe& probe) {
  std::set<std::string> kinds;
  std::string observed;
  for (const RdmaDevice& device : probe.node().devices) {
    for (const RdmaPort& port : device.ports) {
      const double rate =
          known_rate(parse_port_rate(probe.try_line(port.folder + "/rate")), device.driver);
      if (rate == 0) continue;
      kinds.insert(fmt::format("{} {:g} Gb/s", port.link_layer, rate));
      observed += fmt::format("{}{} {} {:g} Gb/s", observed.empty() ? "" : ", ", port.name,
                              port.link_layer, rate);
    }
  }
  if (kinds.empty()) return probe.skip("no port reports its rate");
  probe.judge_by(kinds.size() == 1, Status::warn,
                 kinds.size() == 1 ? "all " + *kinds.begin() : observed,
                 "ports of one link layer and rate", Source::derived);
}

constexpr auto kDeviceRows = std::to_array<Check>({
    {{.id = "device.count",
      .title = "Number of RDMA devices",
      .reads = "sys/class/infiniband",
      .rule =
          "FAIL with fewer than expected, or none where something of devices is; WARN with more",
      .remedy =
          "Look for the missing device with lspci; load its driver, reseat it, or hand it to the container.",
      .source = "facebookresearch/gcm check_hca",
      .action = action::kReseat,
      .compares = true},
     device_count},
    {{.id = "device.registered",
      .title = "Every RDMA function is an RDMA device",
      .reads = "sys/bus/pci/devices/*/{class,vendor,device,infiniband}",
      .rule = "FAIL if an InfiniBand or EFA function has no RDMA device",
      .remedy =
          "Load the driver of that PCI function (mlx5_ib, efa) and read the kernel's log for why it failed.",
      .source = "PCI Code and ID Assignment, class 0207h",
      .as_cause = "lacks a driver"},
     registered},
    {{.id = "device.uverbs",
      .title = "A program may open the device",
      .reads = "sys/class/infiniband_verbs/*/ibdev, /dev/infiniband/uverbs*",
      .rule = "FAIL without a node, or if it does not open",
      .remedy = "Load ib_uverbs; allow users to read and write the node; start a container with "
                "--device=/dev/infiniband.",
      .source = "rdma-core Documentation/udev.md",
      .as_cause = "does not open"},
     uverbs},
    {{.id = "device.rdma_cm",
      .title = "The RDMA connection manager opens",
      .reads = "/dev/infiniband/rdma_cm",
      .rule = "WARN if it does not open; SKIP on EFA",
      .remedy =
          "Load the module: modprobe rdma_ucm; in a container add --device=/dev/infiniband/rdma_cm.",
      .source = "rdma_cm(7)"},
     rdma_cm},
    {{.id = "device.abi",
      .title = "Kernel and libibverbs have the same ABI",
      .reads = "sys/class/infiniband_verbs/abi_version",
      .rule = "FAIL if it is not 6",
      .remedy = "Install kernel modules and rdma-core of one release.",
      .source = "Linux include/uapi/rdma/ib_user_verbs.h",
      .action = action::kUpdateSoftware},
     abi},
    {{.id = "device.umad_abi",
      .title = "Kernel and libibumad have the same ABI",
      .reads = "sys/class/infiniband_mad/abi_version",
      .rule = "InfiniBand: WARN if it is not 5",
      .remedy = "Load ib_umad of the same release as rdma-core.",
      .source = "mej/nhc HW_IB_UMAD_ABI_VER; Linux include/uapi/rdma/ib_user_mad.h",
      .action = action::kUpdateSoftware},
     umad_abi},
    {{.id = "device.names",
      .title = "The network device belongs to the same card",
      .reads = "N/device, D",
      .rule = "FAIL if the port's network device is on another PCI function",
      .remedy =
          "Name the devices by PCI address in udev, and look for a container with a foreign one.",
      .source = "facebookresearch/gcm MLX5_MISMATCH"},
     names},
    {{.id = "device.firmware",
      .title = "Firmware",
      .reads = "sys/class/infiniband/*/{fw_ver,board_id}",
      .rule = "WARN if not the expected one, or unlike other devices of the same board",
      .remedy = "Bring all cards to one firmware with the vendor's tool, and restart the node.",
      .source = "facebookresearch/gcm check_hca",
      .action = action::kUpdateSoftware,
      .compares = true},
     firmware},
    {{.id = "device.guid",
      .title = "Node GUID",
      .reads = "sys/class/infiniband/*/node_guid",
      .rule = "FAIL if it is zero or twice on the node",
      .remedy =
          "Give the virtual function a GUID: ip link set ... vf N node_guid; or restart the driver.",
      .source = "InfiniBand specification 1.7, 3.5.1"},
     guid},
    {{.id = "device.mixed",
      .title = "Devices of one kind",
      .reads = "P/{rate,link_layer}",
      .rule = "WARN if ports differ in link layer or rate",
      .remedy = "Leave the odd one out of the job: NCCL_IB_HCA, UCX_NET_DEVICES, or --device.",
      .source = "stas00/ml-engineering network/debug"},
     mixed},
});

}  // namespace

constinit const std::span<const Check> kDeviceChecks = kDeviceRows;

}  // namespace rdmabench::inline v1::health

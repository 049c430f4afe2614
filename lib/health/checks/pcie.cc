// The path from the device to memory.
#include <algorithm>
#include <array>

#include "../firmware.h"
#include "base/port_rate.h"
#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

struct Link {
  PciLink current;
  PciLink most;
};

Link link_of(Probe& probe, const PciFunction& function) {
  const auto read = [&](std::string_view name) {
    return probe.try_line(fmt::format("{}/{}", function.folder, name));
  };
  return {
      {parse_link_speed(read("current_link_speed")), parse_link_width(read("current_link_width"))},
      {parse_link_speed(read("max_link_speed")), parse_link_width(read("max_link_width"))}};
}

constexpr std::string_view kNoLink = "the function reports no link, as virtual ones do";

/// The best common link of the device and the bridge above it.
PciLink common(const PciLink& device, const PciLink& bridge) {
  PciLink both = device;
  if (bridge.gigatransfers > 0)
    both.gigatransfers = std::min(both.gigatransfers, bridge.gigatransfers);
  if (bridge.width > 0) both.width = std::min(both.width, bridge.width);
  return both;
}

/// The device whose function it is; null for none.
const RdmaDevice* device_of(Probe& probe, const PciFunction& function) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (device.pci.address == function.address) return &device;
  }
  return nullptr;
}

bool is_below(const PciFunction& function, const PciFunction& bridge) {
  const auto& above = function.above;
  return std::any_of(above.begin(), above.end(),
                     [&](const PciFunction& one) { return one.address == bridge.address; });
}

/// The first device that is judged below a bridge, of several the one with which the bridge is
/// told; null for none.
const RdmaDevice* first_below(Probe& probe, const PciFunction& bridge) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (device.unused.empty() && is_below(device.pci, bridge)) return &device;
  }
  return nullptr;
}

/// False, with the finding SKIP, for all but the first of several devices behind one link: what is
/// wrong with it is told once.
bool is_first_on_link(Probe& probe, const PciFunction& function) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (link_of_function(device.pci) != link_of_function(function)) continue;
    if (device.pci.address == function.address) return true;
    probe.skip(fmt::format("its link is that of {}", device.name));
    return false;
  }
  return true;
}

/// The device's link, and the maximum of both ends. False, with the finding SKIP, if unknown.
bool device_link(Probe& probe, const PciFunction& function, Link& link) {
  if (!is_first_on_link(probe, function)) return false;
  link = link_of(probe, function);
  if (!link.current.known() || !link.most.known()) {
    probe.skip(std::string(kNoLink));
    return false;
  }
  if (!function.above.empty()) {
    link.most = common(link.most, link_of(probe, function.above.back()).most);
  }
  return true;
}

/// The half of the device's card that has more lanes than this one, though this one could have as
/// many; null for none.
const RdmaDevice* wider_half(Probe& probe, const RdmaDevice& device) {
  const Link own = link_of(probe, device.pci);
  for (const RdmaDevice* const half : halves_of(probe, device)) {
    const Link other = link_of(probe, half->pci);
    if (other.current.width > own.current.width && own.most.width >= other.current.width)
      return half;
  }
  return nullptr;
}

void width(Probe& probe, const PciFunction& function) {
  Link link;
  if (!device_link(probe, function, link)) return;
  const RdmaDevice* const device = device_of(probe, function);
  const RdmaDevice* const wider = device == nullptr ? nullptr : wider_half(probe, *device);
  if (wider != nullptr) {
    const std::uint32_t theirs = link_of(probe, wider->pci).current.width;
    probe.observe(fmt::format("{} has x{}, its other half {} x{}", function.address,
                              link.current.width, wider->pci.address, theirs));
    probe.expect(fmt::format("x{}, as the other half of the card has", theirs), Source::derived);
    probe.action(action::kUpdateSoftware);
    return probe.fail(
        "Update the firmware of the machine, which divides the slot's lanes, and of the card.");
  }
  probe.judge_by(
      link.current.width >= link.most.width, Status::fail, fmt::format("x{}", link.current.width),
      fmt::format("x{}, which card and slot could do", link.most.width), Source::derived);
}

void speed(Probe& probe, const PciFunction& function) {
  Link link;
  if (!device_link(probe, function, link)) return;
  probe.judge_by(link.current.gigatransfers >= link.most.gigatransfers, Status::fail,
                 fmt::format("{:g} GT/s", link.current.gigatransfers),
                 fmt::format("{:g} GT/s, which card and slot could do", link.most.gigatransfers),
                 Source::derived);
}

/// The rate of all ports of the device together, of a bond's too, of their data, Gb/s.
double device_rate(Probe& probe, const RdmaDevice& device) {
  const SysfsFiles files{
      .first_line = [&](const std::string& path) { return probe.try_line(path); },
      .list = [&](const std::string& path) { return probe.list(path); },
      .resolve = [&](const std::string& path) { return probe.resolve(path); }};
  double sum = 0;
  for (const RdmaPort& port : device.ports) {
    const std::string rate = probe.try_line(port.folder + "/rate");
    sum +=
        known_rate(parse_port_rate(rate), device.driver) * port_data_share(rate, port.infiniband());
  }
  return sum * bonded_ports(files, device.driver, device.folder);
}

/// The slowest link of a path, and where it is.
struct Narrowest {
  PciLink link;
  std::string address;  ///< "" if no link is known
};

/// How many bridges above a function carry all that goes from it to a GPU below the same switch: 0
/// for none. Those up to there do not count, for their links carry none of that.
std::size_t shared_bridges(const Inventory& node, const PciFunction& function) {
  std::size_t most = 0;
  for (const Gpu& gpu : node.gpus) {
    std::size_t common = 0;
    while (common < std::min(function.above.size(), gpu.pci.above.size()) &&
           function.above[common].address == gpu.pci.above[common].address) {
      ++common;
    }
    most = std::max(most, common);
  }
  return most;
}

/// Of the links to the nearest GPU below one switch, else to the root port.
Narrowest narrowest_of(Probe& probe, const PciFunction& function) {
  std::vector<PciFunction> functions = function.above;
  functions.push_back(function);
  Narrowest narrowest;
  for (std::size_t i = shared_bridges(probe.node(), function); i < functions.size(); ++i) {
    const PciLink link = link_of(probe, functions[i]).current;
    if (!link.known() || (!narrowest.address.empty() && link.gbps() >= narrowest.link.gbps())) {
      continue;
    }
    narrowest = {link, functions[i].address};
  }
  return narrowest;
}

/// The function over which the card reaches a GPU directly (NVIDIA's Data Direct), else its own.
/// Which card a Data Direct function belongs to is in its vital product data, which only root may
/// read; those of one NUMA node are alike.
const PciFunction& function_to_gpu(Probe& probe, const RdmaDevice& device) {
  const std::string node = probe.try_line(device.pci.folder + "/numa_node");
  for (const PciFunction& direct : probe.node().dma_functions) {
    if (device.driver == "mlx5" && probe.try_line(direct.folder + "/numa_node") == node) {
      return direct;
    }
  }
  return device.pci;
}

/// The highest rate of a device behind one of the halves' links, Gb/s: its other port may be down.
double rate_behind(Probe& probe, const std::vector<const RdmaDevice*>& halves) {
  double most = 0;
  for (const RdmaDevice& device : probe.node().devices) {
    const bool behind = std::any_of(halves.begin(), halves.end(), [&](const RdmaDevice* half) {
      return link_of_function(half->pci) == link_of_function(device.pci);
    });
    if (behind && device.physical()) most = std::max(most, device_rate(probe, device));
  }
  return most;
}

void path(Probe& probe, const RdmaDevice& device) {
  if (!device.physical()) return probe.skip(std::string(kNoFunction));
  if (!is_first_on_link(probe, device.pci)) return;
  const std::vector<const RdmaDevice*> halves = halves_of(probe, device);
  if (halves.front() != &device) {
    return probe.skip(
        fmt::format("judged with {}, the other half of the card", halves.front()->name));
  }
  const double rate = rate_behind(probe, halves);
  double sum = 0;
  std::string links;
  std::string names;
  for (const RdmaDevice* const half : halves) {
    if (wider_half(probe, *half) != nullptr) {
      return probe.skip(fmt::format("device {} has a narrow link", half->name));
    }
    const Narrowest least = narrowest_of(probe, function_to_gpu(probe, *half));
    if (least.address.empty()) continue;
    sum += least.link.gbps();
    links += fmt::format("{}PCIe {:g} GT/s x{} at {}", links.empty() ? "" : " and ",
                         least.link.gigatransfers, least.link.width, least.address);
    names += (names.empty() ? "" : " and ") + half->name;
  }
  if (links.empty()) return probe.skip(std::string(kNoLink));
  if (rate == 0) return probe.skip("the device does not report its rate");
  probe.observe(fmt::format("{:.0f} Gb/s: {}{}", sum, links,
                            halves.size() == 1 ? "" : ", together: use both " + names));
  probe.expect(fmt::format("at least {:g} Gb/s, the rate of its ports", rate), Source::derived);
  // x16 at 32 GT/s has 504 Gb/s for a port of 400: the difference covers the packet headers.
  probe.judge_by(sum >= rate, Status::fail);
}

void bridges(Probe& probe, const PciFunction& function) {
  if (!is_first_on_link(probe, function)) return;
  const std::vector<PciFunction>& above = function.above;
  bool any = false;
  // Without the last one: pcie.width and pcie.speed judge the device's own link.
  for (std::size_t i = 0; i + 1 < above.size(); ++i) {
    const Link own = link_of(probe, above[i]);
    if (!own.current.known() || !own.most.known()) continue;
    // Reading whether a link leads up or down takes privilege. So the bridge is compared with both
    // neighbours.
    PciLink could = own.most;
    could = common(could, link_of(probe, above[i + 1]).most);
    if (i > 0) could = common(could, link_of(probe, above[i - 1]).most);
    probe.observe(fmt::format("{}: {:g} GT/s x{}", above[i].address, own.current.gigatransfers,
                              own.current.width));
    probe.expect(
        fmt::format("{:g} GT/s x{}, which both ends could do", could.gigatransfers, could.width),
        Source::derived);
    if (own.current.width < could.width || own.current.gigatransfers < could.gigatransfers) {
      return probe.fail();
    }
    any = true;
  }
  if (!any) return probe.skip("no switch between it and the root port reports a link");
  probe.observe(fmt::format("{} bridges", above.size()));
  probe.expect("links as fast and wide as both ends could do", Source::derived);
  probe.pass();
}

/// The first bytes of configuration space; none, with the finding SKIP, if they cannot be read.
std::optional<std::string> config(Probe& probe, const PciFunction& function) {
  auto bytes = probe.text(function.folder + "/config");
  if (bytes && bytes->empty()) {
    probe.skip("the function's configuration is empty", Skipped::unread);
    return std::nullopt;
  }
  if (bytes && bytes->size() < 64) {
    probe.error(fmt::format("{}/config has {} bytes", function.folder, bytes->size()));
    return std::nullopt;
  }
  return bytes;
}

/// Registers of the PCI Express capability.
struct PciExpressCapability {
  std::uint32_t capabilities;  ///< of the device
  std::uint32_t control;
};

/// None, with the finding SKIP, if they cannot be read.
std::optional<PciExpressCapability> pci_express_capability(Probe& probe,
                                                           const PciFunction& function) {
  if (probe.exists(function.folder + "/physfn")) {
    probe.skip("these registers of a virtual function are reserved and read zero");
    return std::nullopt;
  }
  const auto bytes = config(probe, function);
  if (!bytes) return std::nullopt;
  const PciConfig space(*bytes);
  if (!space.has_capabilities()) {
    probe.skip("only root reads more than 64 bytes of a PCI function's configuration",
               Skipped::unread);
    return std::nullopt;
  }
  const auto at = space.capability(kPciExpress);
  const auto control = at ? space.word(*at + 8) : std::nullopt;
  if (!control) {
    probe.skip("the function has no PCI Express capability, as virtual ones");
    return std::nullopt;
  }
  const PciExpressCapability found{*space.word(*at + 4), *control};
  // A guest does not see that a function is virtual.
  if (probe.node().virtual_machine && (found.control & 0x70f0U) == 0) {
    probe.skip("these registers read zero, as those of a virtual function do");
    return std::nullopt;
  }
  return found;
}

std::uint32_t payload_bytes(std::uint32_t code) {
  return 128U << std::min(code & 7U, 5U);
}

/// Whether the kernel sets all devices for performance. Source: Linux kernel-parameters, pci=.
bool kernel_sets_performance(Probe& probe) {
  for (const std::string& word : words_of(probe.try_text("proc/cmdline"))) {
    if (!word.starts_with("pci=")) continue;
    for (const std::string_view option : split(std::string_view(word).substr(4), ',')) {
      if (option == "pcie_bus_perf") return true;
    }
  }
  return false;
}

void max_read_request(Probe& probe, const RdmaDevice& device) {
  if (!device.physical()) return probe.skip(std::string(kNoFunction));
  const auto registers = pci_express_capability(probe, device.pci);
  if (!registers) return;
  const std::uint32_t size = payload_bytes(registers->control >> 12);
  const double rate = device_rate(probe, device);
  const std::uint32_t wanted = rate >= 200 ? 4096 : 512;
  // Linux drivers/pci/probe.c, pcie_write_mrrs(), lowers it to the size of payloads then.
  probe.judge_by(size >= wanted, Status::warn, fmt::format("{} B", size),
                 fmt::format("at least {} B at {:g} Gb/s", wanted, rate), Source::standard,
                 kernel_sets_performance(probe)
                     ? "Start the kernel without pci=pcie_bus_perf, which lowers it to MaxPayload."
                     : "");
}

/// A device may send less than the bridge above takes, not more. The kernel may set it so: Linux
/// drivers/pci/probe.c, pcie_write_mps().
void max_payload(Probe& probe, const PciFunction& function) {
  if (function.above.empty()) return probe.skip("no bridge is above it");
  const PciFunction& bridge = function.above.back();
  if (!config(probe, function) || !config(probe, bridge)) return;  // a missing one is told first
  const auto own = pci_express_capability(probe, function);
  if (!own) return;
  const auto above = pci_express_capability(probe, bridge);
  if (!above) return;
  constexpr std::uint32_t kLeast = 256;  // with 128, headers take a sixth of the link
  const std::uint32_t size = payload_bytes(own->control >> 5);
  const std::uint32_t other = payload_bytes(above->control >> 5);
  const std::uint32_t could =
      std::min(payload_bytes(own->capabilities), payload_bytes(above->capabilities));
  probe.observe(fmt::format("{} B, {} of {}", size, other, bridge.address));
  probe.expect(
      fmt::format("at most the bridge's, and at least {} B where both could do that", kLeast),
      Source::standard);
  if (size > other) return probe.fail();
  probe.judge_by(size >= std::min(could, kLeast), Status::warn);
}

void relaxed_ordering(Probe& probe, const PciFunction& function) {
  const auto registers = pci_express_capability(probe, function);
  if (!registers) return;
  const bool on = (registers->control & 0x10U) != 0;
  const bool amd = value_after(probe.try_text("proc/cpuinfo"), "vendor_id") == "AuthenticAMD";
  probe.judge_by(on || !amd, Status::warn, on ? "on" : "off",
                 amd ? "on, for an AMD processor" : "on, or a processor that does without",
                 Source::standard);
}

void write_ordering(Probe& probe, const RdmaDevice& device) {
  if (!device.physical()) return probe.skip(std::string(kNoFunction));
  if (device.driver != "mlx5") return probe.skip("only mlx5 devices have this setting");
  const std::string path = "rdmabench/firmware/" + device.pci.address;
  if (!probe.exists(path)) return probe.skip("the firmware was not asked: give --ask-firmware");
  const auto text = probe.text(path);
  if (!text) return;
  if (text->starts_with(kNotTold)) return probe.skip(one_line(text->substr(kNotTold.size())));
  const auto setting = firmware_setting(*text, "PCI_WR_ORDERING");
  const auto known = [](const std::string& value) {
    return value.starts_with("per_mkey") || value.starts_with("force_relax");
  };
  if (!setting || !known(setting->now) || !known(setting->next)) {
    return probe.error(fmt::format("{} has no PCI_WR_ORDERING of a known form", path));
  }
  const bool same = setting->now == setting->next;
  probe.judge_by(
      same && setting->now.starts_with("per_mkey"), Status::warn,
      same ? setting->now
           : fmt::format("{}, from the next reset on {}", setting->now, setting->next),
      "per_mkey(0): only memory that was registered with relaxed ordering", Source::standard,
      fmt::format("mlxconfig -d {0} set PCI_WR_ORDERING=per_mkey, then mlxfwreset -d {0} reset.",
                  device.pci.address));
}

/// The device before it with which a bridge is told that takes too small packets; null for none. It
/// sends packets as large, and the bridge right above it takes them.
const RdmaDevice* told_with(Probe& probe, const PciFunction& function, const PciFunction& bridge,
                            std::uint32_t size) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (device.pci.address == function.address) break;
    if (!device.unused.empty() || !is_below(device.pci, bridge)) continue;
    const auto own = pci_express_capability(probe, device.pci);
    const auto above = pci_express_capability(probe, device.pci.above.back());
    const std::uint32_t theirs = own ? payload_bytes(own->control >> 5) : 0;
    if (theirs >= size && above && payload_bytes(above->control >> 5) >= theirs) return &device;
  }
  return nullptr;
}

/// A FAIL where a bridge on the way takes smaller packets than the function sends: it drops them.
void payload_of_path(Probe& probe, const PciFunction& function) {
  if (function.above.empty()) return probe.skip("no bridge is above it");
  const auto own = pci_express_capability(probe, function);
  if (!own) return;
  const std::uint32_t size = payload_bytes(own->control >> 5);
  probe.expect(fmt::format("at least {} B on every bridge, as of the function", size),
               Source::derived);
  std::string told;
  for (const PciFunction& bridge : function.above) {
    const auto above = pci_express_capability(probe, bridge);
    if (!above) return;
    const std::uint32_t other = payload_bytes(above->control >> 5);
    probe.observe(fmt::format("{} B of {}", other, bridge.address));
    if (other >= size) continue;
    const RdmaDevice* const first = told_with(probe, function, bridge, size);
    if (first == nullptr) return probe.fail();
    told = fmt::format("{} takes less, which is told with {}", bridge.address, first->name);
  }
  if (!told.empty()) return probe.skip(told);
  probe.observe(fmt::format("{} B, and no bridge has less", size));
  probe.pass();
}

void gpu_payload(Probe& probe, const Gpu& gpu) {
  payload_of_path(probe, gpu.pci);
}

void gpu_read_request(Probe& probe, const Gpu& gpu) {
  const auto registers = pci_express_capability(probe, gpu.pci);
  if (!registers) return;
  const std::uint32_t size = payload_bytes(registers->control >> 12);
  probe.judge_by(size >= 512, Status::warn, fmt::format("{} B", size),
                 "at least 512 B, the usual value", Source::standard);
}

/// Whether the kernel hears of errors below a root port. Where the firmware keeps them for itself,
/// the counters stay zero. The AER service of a root port is 002. Source: Linux pcie/portdrv.c.
bool hears_errors(const Probe& probe, const std::string& root_port) {
  return probe.exists("sys/bus/pci_express/drivers/aer/" + root_port + ":pcie002");
}

constexpr std::string_view kUnheard =
    "the kernel hears of no PCIe error here (the firmware keeps them, or it is a guest): zero tells "
    "nothing";

/// The total in the last line of an advanced error reporting file. Source:
/// sysfs-bus-pci-devices-aer.
void errors(Probe& probe, const PciFunction& function, const std::string& kind,
            const std::string& total, std::uint64_t most, Status bad) {
  const auto text = probe.text(function.folder + "/aer_dev_" + kind);
  if (!text) return;
  const auto count = to_number(value_after(*text, total));
  if (!count) return probe.error(fmt::format("aer_dev_{} has no {}", kind, total));
  std::string which;
  for (const std::string& line : lines_of(*text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() == 2 && words[1] != "0" && words[0] != total) which += ' ' + line;
  }
  if (*count == 0 &&
      (function.above.empty() || !hears_errors(probe, function.above.front().address))) {
    return probe.skip(std::string(kUnheard));
  }
  probe.judge_by(*count <= most, bad, fmt::format("{}{}", *count, which.empty() ? "" : ":" + which),
                 fmt::format("at most {} since the node was started", most), Source::standard);
}

void correctable(Probe& probe, const PciFunction& function) {
  errors(probe, function, "correctable", "TOTAL_ERR_COR", 100, Status::warn);
}

void nonfatal(Probe& probe, const PciFunction& function) {
  errors(probe, function, "nonfatal", "TOTAL_ERR_NONFATAL", 0, Status::warn);
}

void fatal(Probe& probe, const PciFunction& function) {
  errors(probe, function, "fatal", "TOTAL_ERR_FATAL", 0, Status::fail);
}

/// The errors of several functions below one root port; the first line of the table that any has
/// too many of counts.
void errors_of(Probe& probe, const std::vector<const PciFunction*>& functions,
               const std::string& root_port) {
  struct Kind {
    std::string_view file;
    std::string_view total;
    std::uint64_t most;
    Status bad;
  };
  static constexpr auto kKinds =
      std::to_array<Kind>({{"fatal", "TOTAL_ERR_FATAL", 0, Status::fail},
                           {"nonfatal", "TOTAL_ERR_NONFATAL", 0, Status::warn},
                           {"correctable", "TOTAL_ERR_COR", 100, Status::warn}});
  std::uint64_t sum = 0;
  bool any = false;
  for (const Kind& kind : kKinds) {
    for (const PciFunction* const function : functions) {
      const std::string text =
          probe.try_text(fmt::format("{}/aer_dev_{}", function->folder, kind.file));
      if (text.empty()) continue;
      const auto count = to_number(value_after(text, kind.total));
      if (!count) {
        return probe.error(
            fmt::format("{}: aer_dev_{} has no {}", function->address, kind.file, kind.total));
      }
      any = true;
      sum += *count;
      if (*count <= kind.most) continue;
      return probe.judge_by(
          false, kind.bad, fmt::format("{} {} errors at {}", *count, kind.file, function->address),
          "none but 100 that were corrected, since the node was started", Source::standard);
    }
  }
  if (!any) return probe.skip("none of them counts errors");
  if (sum == 0 && !hears_errors(probe, root_port)) {
    return probe.skip(std::string(kUnheard));
  }
  probe.judge_by(true, Status::pass, fmt::format("{}, all corrected", sum),
                 "none but 100 that were corrected, since the node was started", Source::standard);
}

void bridge_errors(Probe& probe, const PciFunction& function) {
  if (function.above.empty()) return probe.skip("no bridge is above it");
  std::vector<const PciFunction*> bridges;
  const RdmaDevice* first = nullptr;
  for (const PciFunction& bridge : function.above) {
    first = first_below(probe, bridge);
    if (first == nullptr || first->pci.address == function.address) bridges.push_back(&bridge);
  }
  if (bridges.empty()) return probe.skip(fmt::format("its bridges are those of {}", first->name));
  errors_of(probe, bridges, function.above.front().address);
}

/// Its own and those of the bridges that it shares with no RDMA device, which pcie.bridge_errors
/// tells of.
void gpu_errors(Probe& probe, const Gpu& gpu) {
  if (gpu.pci.above.empty()) return probe.skip("no bridge is above it");
  std::vector<const PciFunction*> functions{&gpu.pci};
  for (const PciFunction& bridge : gpu.pci.above) {
    if (first_below(probe, bridge) == nullptr) functions.push_back(&bridge);
  }
  errors_of(probe, functions, gpu.pci.above.front().address);
}

void alive(Probe& probe, const PciFunction& function) {
  // A saved tree may lack it: nothing that rests on this is unknown for that.
  if (probe.try_text(function.folder + "/config").empty()) {
    return probe.skip("the function's configuration cannot be read");
  }
  const auto bytes = config(probe, function);
  if (!bytes) return;
  const std::uint32_t ids = PciConfig(*bytes).dword(0).value_or(0);
  probe.judge_by(ids != 0xffffffffU, Status::fail, fmt::format("{:08x}", ids),
                 "an identity, not ffffffff", Source::standard);
}

void bus_master(Probe& probe, const PciFunction& function) {
  const auto bytes = config(probe, function);
  if (!bytes) return;
  const bool on = (PciConfig(*bytes).word(4).value_or(0) & 4U) != 0;
  probe.judge_by(on, Status::fail, on ? "on" : "off", "on", Source::standard);
}

void power(Probe& probe, const PciFunction& function) {
  const auto state = probe.line(function.folder + "/power_state");
  if (!state) return;
  probe.observe(*state);
  probe.expect("D0", Source::standard);
  if (*state == "unknown") return probe.skip("the function has no power management");
  probe.judge_by(*state == "D0", Status::fail);
}

void aspm(Probe& probe, const PciFunction& function) {
  const auto l1 = probe.number(function.folder + "/link/l1_aspm");
  if (!l1) return;
  probe.judge_by(*l1 == 0, Status::warn, *l1 == 0 ? "L1 off" : "L1 on", "L1 off", Source::standard);
}

constexpr std::string_view kReseat =
    "Reseat the card or move it to another slot; look at the slot's width and speed in the BIOS.";

constexpr auto kPcieRows = std::to_array<Check>({
    {{.id = "pcie.width",
      .title = "Width of the link",
      .reads = "D/{current,max}_link_width, and of the bridge above; D/physfn, sys_image_guid",
      .rests_on = "pcie.alive",
      .rule = "FAIL below what card and slot could do, or below the other half of the card",
      .remedy = kReseat,
      .source = "sysfs-bus-pci; NVIDIA Socket Direct guide",
      .as_cause = "has a narrow link",
      .action = action::kReseat},
     width},
    {{.id = "pcie.speed",
      .title = "Speed of the link",
      .reads = "D/{current,max}_link_speed, and of the bridge above",
      .rests_on = "pcie.alive",
      .rule = "FAIL below what card and slot could do",
      .remedy = kReseat,
      .source = "facebookresearch/gcm check_pci; sysfs-bus-pci",
      .as_cause = "has a slow link",
      .action = action::kReseat},
     speed},
    {{.id = "pcie.path",
      .title = "Bandwidth to the root port, or to a GPU below one switch",
      .reads =
          "D/current_link_{speed,width} of the device and every bridge above, P/rate, sys_image_guid",
      .rests_on = "pcie.width, pcie.speed, pcie.bridges",
      .rule =
          "FAIL if the least, of all halves of the card together, is below the rate of the ports",
      .remedy =
          "Move the card to a slot as wide and fast as its ports need, or reseat what is named.",
      .source =
          "Linux drivers/pci/pci.c pcie_print_link_status; PCI Express specification 6.0; rdma-core kernel-boot/rdma_topo",
      .action = action::kReseat},
     path},
    {{.id = "pcie.bridges",
      .title = "Links of the switches above",
      .reads = "D/{current,max}_link_{speed,width} of every bridge above",
      .rule = "FAIL if one is below what both of its ends could do",
      .remedy = "Restart the node; if it stays, the riser, cable or switch that is named is bad.",
      .source = "imbue-ai/cluster-health; sysfs-bus-pci",
      .as_cause = "is behind a slow link",
      .action = action::kReboot},
     bridges},
    {{.id = "pcie.max_read_request",
      .title = "Size of read requests",
      .reads = "D/config (Device Control), D/physfn, proc/cmdline",
      .rests_on = "pcie.alive",
      .rule = "WARN below 4096 B from 200 Gb/s on, else below 512 B",
      .remedy = "Set it with setpci -s DEVICE CAP_EXP+8.w=5000:f000, at each start.",
      .source = "OCI pcie_max_read; mlnx_tune; Linux drivers/pci/probe.c pcie_write_mrrs",
      .compares = true,
      .root = true},
     max_read_request},
    {{.id = "pcie.max_payload",
      .title = "Size of payloads",
      .reads = "D/config (Device Control), and of the bridge above; D/physfn",
      .rests_on = "pcie.alive",
      .rule = "FAIL if above the bridge's; WARN at 128 B if both could do 256",
      .remedy =
          "Set it in the BIOS, or start the kernel with pci=pcie_bus_safe. (pcie_bus_perf lowers the size of read requests too.)",
      .source = "Linux drivers/pci/probe.c pcie_write_mps; PCI Express specification 6.0, 9.3.5.4",
      .as_cause = "sends larger packets than the bridge above it takes",
      .root = true},
     max_payload},
    {{.id = "pcie.relaxed_ordering",
      .title = "Relaxed ordering",
      .reads = "D/config (Device Control), D/physfn, proc/cpuinfo",
      .rests_on = "pcie.alive",
      .rule = "WARN if off on an AMD processor",
      .remedy = "Turn it on in the BIOS, or with setpci -s DEVICE CAP_EXP+8.w=10:10.",
      .source = "openucx/ucx issue 8062; PCI Express specification 6.0, 9.3.5.4",
      .compares = true,
      .root = true},
     relaxed_ordering},
    {{.id = "pcie.write_ordering",
      .title = "Relaxed ordering of all writes",
      .reads = "mstconfig or mlxconfig -d ADDRESS -e q PCI_WR_ORDERING, with --ask-firmware",
      .rule =
          "mlx5: WARN at force_relax, now or from the next reset on: the last byte of a write may be seen before the rest",
      .remedy =
          "mlxconfig -d ADDRESS set PCI_WR_ORDERING=per_mkey, then mlxfwreset -d ADDRESS reset.",
      .source = "Mellanox/mstflint mlxconfig; ibv_query_qp_data_in_order(3)",
      .root = true},
     write_ordering},
    {{.id = "pcie.correctable",
      .title = "Correctable errors",
      .reads = "D/aer_dev_correctable",
      .rule = "WARN above 100",
      .remedy = kReseat,
      .source = "Linux sysfs-bus-pci-devices-aer",
      .action = action::kReseat},
     correctable},
    {{.id = "pcie.nonfatal",
      .title = "Uncorrectable errors that were not fatal",
      .reads = "D/aer_dev_nonfatal",
      .rule = "WARN above 0",
      .remedy = kReseat,
      .source = "Linux sysfs-bus-pci-devices-aer",
      .action = action::kReseat},
     nonfatal},
    {{.id = "pcie.fatal",
      .title = "Fatal errors",
      .reads = "D/aer_dev_fatal",
      .rule = "FAIL above 0",
      .remedy = kReseat,
      .source = "Linux sysfs-bus-pci-devices-aer",
      .action = action::kReseat},
     fatal},
    {{.id = "pcie.bridge_errors",
      .title = "Errors of the bridges above",
      .reads = "aer_dev_{fatal,nonfatal,correctable} of every bridge above",
      .rule = "FAIL above 0 fatal; WARN above 0 uncorrectable or 100 correctable",
      .remedy =
          "Reseat what is below the bridge that is named; then the riser, cable or switch is bad.",
      .source = "Linux sysfs-bus-pci-devices-aer, pcie/portdrv.c",
      .action = action::kReseat},
     bridge_errors},
    {{.id = "pcie.bridge_payload",
      .title = "Largest payload on the way",
      .reads = "D/config (Device Control), and of every bridge above",
      .rests_on = "pcie.max_payload",
      .rule = "FAIL if a bridge takes less than the device sends",
      .remedy =
          "Take pci=pcie_bus_tune_off out of the kernel's options, or set pci=pcie_bus_safe; update the BIOS.",
      .source = "PCI Express specification 6.0, 2.2.2; Linux drivers/pci/probe.c",
      .root = true},
     payload_of_path},
    {{.id = "gpu.pcie_errors",
      .title = "PCIe errors of the GPU and of bridges that are its own",
      .reads = "aer_dev_{fatal,nonfatal,correctable} of D and of bridges above",
      .rests_on = "gpu.driver",
      .rule = "FAIL above 0 fatal; WARN above 0 uncorrectable or 100 correctable",
      .remedy = "Reseat the GPU or its riser.",
      .source = "Linux sysfs-bus-pci-devices-aer, pcie/portdrv.c",
      .action = action::kReseat},
     gpu_errors},
    {{.id = "gpu.max_read_request",
      .title = "Size of the GPU's read requests",
      .reads = "D/config (Device Control)",
      .rests_on = "gpu.driver",
      .rule = "WARN below 512 B",
      .remedy = "Take pci=pcie_bus_perf out of the kernel's options; or set it with setpci.",
      .source = "PCI Express specification 6.0, 7.5.3.4; Linux drivers/pci/probe.c",
      .root = true},
     gpu_read_request},
    {{.id = "gpu.max_payload",
      .title = "Largest payload on the way to the GPU",
      .reads = "D/config (Device Control), and of every bridge above",
      .rests_on = "gpu.driver",
      .rule = "FAIL if a bridge takes less than the GPU sends",
      .remedy = "Set pci=pcie_bus_safe; update the BIOS.",
      .source = "PCI Express specification 6.0, 2.2.2; Linux drivers/pci/probe.c",
      .root = true},
     gpu_payload},
    {{.id = "pcie.alive",
      .title = "The device answers",
      .reads = "D/config (the first 4 bytes)",
      .rule = "FAIL if all ones",
      .remedy =
          "The device has fallen off the bus: restart the node, and have the card changed if it happens again.",
      .source = "OCI check_gpu_setup (rev ff)",
      .as_cause = "has fallen off the bus",
      .action = action::kReboot},
     alive},
    {{.id = "pcie.bus_master",
      .title = "The device may reach memory",
      .reads = "D/config (Command)",
      .rests_on = "pcie.alive",
      .rule = "FAIL if it may not",
      .remedy = "Load the device's driver again; it turns bus mastering on.",
      .source = "PCI specification 3.0, 6.2.2"},
     bus_master},
    {{.id = "pcie.power",
      .title = "Power state",
      .reads = "D/power_state",
      .rests_on = "pcie.alive",
      .rule = "FAIL unless D0",
      .remedy = "Forbid runtime power management: echo on > D/power/control.",
      .source = "Linux sysfs-bus-pci"},
     power},
    {{.id = "pcie.aspm",
      .title = "Power saving of the link",
      .reads = "D/link/l1_aspm",
      .rests_on = "pcie.alive",
      .rule = "WARN if L1 is on",
      .remedy = "echo 0 > D/link/l1_aspm, or start the kernel with pcie_aspm=off.",
      .source = "Linux sysfs-bus-pci"},
     aspm},
});

}  // namespace

constinit const std::span<const Check> kPcieChecks = kPcieRows;

}  // namespace rdmabench::inline v1::health

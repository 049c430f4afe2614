// Links on the path from the device to memory, or to a GPU.
#include <algorithm>
#include <array>

#include "pcie.h"

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

/// False, with the finding SKIP, for all but the first of several judged devices behind one link:
/// what is wrong with it is told once.
bool is_first_on_link(Probe& probe, const PciFunction& function) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (!device.unused.empty() || link_of_function(device.pci) != link_of_function(function)) {
      continue;
    }
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
  if (!function.above.empty() && !probe.node().virtual_machine) {  // there bridges are emulated
    link.most = common(link.most, link_of(probe, function.above.back()).most);
  }
  return true;
}

/// The half of the device's card that has more lanes than this one, though this one could have as
/// many; null for none.
const RdmaDevice* wider_half(Probe& probe, const RdmaDevice& device) {
  const Link own = link_of(probe, device.pci);
  for (const RdmaDevice* const half : halves_of(probe.node(), device)) {
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
  std::vector<PciFunction> functions;
  if (!probe.node().virtual_machine) functions = function.above;  // there they are emulated
  functions.push_back(function);
  Narrowest narrowest;
  const std::size_t first = std::min(shared_bridges(probe.node(), function), functions.size() - 1);
  for (std::size_t i = first; i < functions.size(); ++i) {
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

/// The highest rate of a judged device behind one of the halves' links, Gb/s.
Rates rates_behind(Probe& probe, const std::vector<const RdmaDevice*>& halves) {
  Rates most;
  for (const RdmaDevice& device : probe.node().devices) {
    const bool behind = std::any_of(halves.begin(), halves.end(), [&](const RdmaDevice* half) {
      return link_of_function(half->pci) == link_of_function(device.pci);
    });
    if (!behind || !device.physical() || !device.unused.empty()) continue;
    const Rates own = device_rates(probe, device);
    most = {std::max(most.together, own.together), std::max(most.one_port, own.one_port)};
  }
  return most;
}

void path(Probe& probe, const RdmaDevice& device) {
  if (!device.physical()) return probe.skip(std::string(kNoFunction));
  if (!is_first_on_link(probe, device.pci)) return;
  const std::vector<const RdmaDevice*> halves = halves_of(probe.node(), device);
  const RdmaDevice& first = **std::find_if(
      halves.begin(), halves.end(), [](const RdmaDevice* half) { return half->unused.empty(); });
  if (&first != &device) {
    return probe.skip(fmt::format("judged with {}, the other half of the card", first.name));
  }
  const Rates rates = rates_behind(probe, halves);
  double sum = 0;
  double most = 0;  // that the card itself can do
  std::string links;
  std::string names;
  for (const RdmaDevice* const half : halves) {
    if (wider_half(probe, *half) != nullptr) {
      return probe.skip(fmt::format("device {} has a narrow link", half->name));
    }
    const Narrowest least = narrowest_of(probe, function_to_gpu(probe, *half));
    if (least.address.empty()) continue;
    sum += least.link.gbps();
    most += link_of(probe, half->pci).most.gbps();
    links += fmt::format("{}PCIe {:g} GT/s x{} at {}", links.empty() ? "" : " and ",
                         least.link.gigatransfers, least.link.width, least.address);
    names += (names.empty() ? "" : " and ") + half->name;
  }
  if (links.empty()) return probe.skip(std::string(kNoLink));
  if (rates.together == 0) return probe.skip("the device does not report its rate");
  probe.observe(fmt::format("{:.0f} Gb/s: {}{}", sum, links,
                            halves.size() == 1 ? "" : ", together: use both " + names));
  // Cards are made whose ports share a link that each of them could fill: no slot changes that.
  const bool shared = rates.one_port <= most && most < rates.together;
  probe.expect(shared ? fmt::format("at least {:.0f} Gb/s, all that the card can do; its ports "
                                    "together have {:g}",
                                    most, rates.together)
                      : fmt::format("at least {:g} Gb/s, the rate of its ports", rates.together),
               Source::derived);
  // x16 at 32 GT/s has 504 Gb/s for a port of 400: the difference covers the packet headers.
  probe.judge_by(sum >= (shared ? most : rates.together), Status::fail);
}

void bridges(Probe& probe, const PciFunction& function) {
  if (probe.node().virtual_machine) return probe.skip(std::string(kEmulated));
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

constexpr auto kPcieLinkRows = std::to_array<Check>({
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
      .source = "facebookresearch/gcm health_checks/checks/check_pci.py; sysfs-bus-pci",
      .as_cause = "has a slow link",
      .action = action::kReseat},
     speed},
    {{.id = "pcie.path",
      .title = "Bandwidth to the root port, or to a GPU below one switch",
      .reads =
          "D/current_link_{speed,width} of the device and every bridge above, P/rate, sys_image_guid",
      .rests_on = "pcie.width, pcie.speed, pcie.bridges",
      .rule =
          "FAIL if the least, of all halves of the card together, is below the rate of the ports, or of what the card itself can "
          "do where that is less and enough for each port",
      .remedy =
          "Move the card to a slot as wide and fast as its ports need, or reseat what is named.",
      .source =
          "Linux drivers/pci/pci.c pcie_print_link_status; PCI Express specification 6.0; rdma-core kernel-boot/rdma_topo",
      .action = action::kReseat},
     path},
    {{.id = "pcie.bridges",
      .title = "Links of the switches above",
      .reads = "D/{current,max}_link_{speed,width} of every bridge above",
      .rule =
          "FAIL if one is below what both of its ends could do; SKIP in a virtual machine, whose bridges are emulated",
      .remedy = "Restart the node; if it stays, the riser, cable or switch that is named is bad.",
      .source = "imbue-ai/cluster-health health_checks/health_checks.py; sysfs-bus-pci",
      .as_cause = "is behind a slow link",
      .action = action::kReboot},
     bridges},
});

}  // namespace

constinit const std::span<const Check> kPcieLinkChecks = kPcieLinkRows;

}  // namespace rdmabench::inline v1::health

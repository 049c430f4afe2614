// Between devices: address translation, and access control services that redirect their traffic
// over the root port.
#include <algorithm>
#include <array>
#include <set>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::string_view kPassThrough =
    "Start the kernel with iommu=pt (with intel_iommu=on or amd_iommu=on where it is wanted), on Arm "
    "with iommu.passthrough=1.";

void translation(Probe& probe, const PciFunction& function) {
  const std::string group = probe.link_name(function.folder + "/iommu_group");
  if (group.empty()) {
    // A saved tree may lack the group. Only an empty sys/class/iommu shows that the machine has no
    // IOMMU.
    if (!probe.exists("sys/class/iommu")) {
      return probe.skip("no IOMMU group, and no sys/class/iommu that would show an IOMMU");
    }
    probe.observe("no IOMMU group");
    probe.expect("identity, or no IOMMU", Source::standard);
    if (!probe.list("sys/class/iommu").empty()) {
      return probe.skip("there is an IOMMU, but the function reports no group");
    }
    return probe.pass();
  }
  const auto type = probe.line("sys/kernel/iommu_groups/" + group + "/type");
  if (!type) return;
  probe.observe(fmt::format("group {}: {}", group, *type));
  probe.expect("identity, or no IOMMU", Source::standard);
  if (*type == "identity") return probe.pass();
  if (probe.node().virtual_machine) {
    return probe.skip("in a virtual machine the translation may be what isolates it");
  }
  probe.warn();
}

constexpr std::size_t kControl = 6;

/// Every bridge above a GPU, an RDMA device or a Data Direct function, once.
std::vector<PciFunction> bridges(const Inventory& node) {
  std::vector<PciFunction> found;
  std::set<std::string> seen;
  const auto add = [&](const PciFunction& function) {
    for (const PciFunction& bridge : function.above) {
      if (seen.insert(bridge.address).second) found.push_back(bridge);
    }
  };
  for (const RdmaDevice& device : node.devices) add(device.pci);
  for (const Gpu& gpu : node.gpus) add(gpu.pci);
  for (const PciFunction& direct : node.dma_functions) add(direct);
  return found;
}

std::string names_of(std::uint32_t control) {
  constexpr std::array<std::string_view, 7> kNames{
      "SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"};
  std::string text;
  for (std::size_t bit = 0; bit < kNames.size(); ++bit) {
    if ((control >> bit & 1U) != 0) text += fmt::format(" {}+", kNames[bit]);
  }
  return text;
}

/// False, with the finding SKIP, unless the node has both a GPU and an RDMA device.
bool has_pairs(Probe& probe) {
  const Inventory& node = probe.node();
  bool physical = false;
  for (const RdmaDevice& device : node.devices) physical = physical || device.physical();
  if (node.gpus.empty() || !physical) {
    probe.skip("this node lacks a GPU or an RDMA device");
    return false;
  }
  return true;
}

/// What the control register of a bridge should have: these bits, of these alone.
struct AcsRule {
  std::uint32_t mask = 0;  ///< 0: not judged
  std::uint32_t wanted = 0;
};

// Bits: 0 source validation, 2 and 3 redirect of requests and completions, 4 upstream forwarding,
// 6 direct translated.
constexpr AcsRule kAcsOff{0x1d, 0};
constexpr AcsRule kAcsOfKernel{0x1d, 0x1d};  // xx111x1

/// How GPUs and RDMA devices reach each other on this node. Source: rdma-core
/// kernel-boot/rdma_topo.
enum class AcsTopology : std::uint8_t {
  data_direct,  ///< a Data Direct function and its GPU below one switch of the card
  own_ports,    ///< NVIDIA's GPUs below root ports of their own (NUMA-based there)
  inlined,      ///< the GPU below the card's own switch
  switches      ///< other switches, as NCCL's documentation has them
};

class AcsRules {
 public:
  explicit AcsRules(Probe& probe) : probe_(probe), node_(probe.node()) {
    bool own_switch = false;
    for (const Gpu& gpu : node_.gpus) {
      if (gpu.nvidia && gpu.pci.above.size() == 1) topology_ = AcsTopology::own_ports;
      own_switch =
          own_switch || (gpu.nvidia && !gpu.pci.above.empty() && is_card(gpu.pci.above.back()));
    }
    if (!node_.dma_functions.empty()) {
      topology_ = AcsTopology::data_direct;
    } else if (topology_ != AcsTopology::own_ports && own_switch) {
      topology_ = AcsTopology::inlined;
    }
    for (const RdmaDevice& device : node_.devices) {
      const std::string bytes = probe.try_text(device.pci.folder + "/config");
      const PciConfig space(bytes);
      virtualized_ = virtualized_ || space.extended_capability(kAddressTranslation).has_value();
    }
  }

  AcsRule of(const PciFunction& bridge) const {
    switch (topology_) {
      case AcsTopology::data_direct:
        return of_data_direct(bridge);
      case AcsTopology::own_ports:
        return {};  // whatever the kernel sets
      case AcsTopology::inlined:
        // A card with address translation services is set up for virtual machines.
        if (!virtualized_) return kAcsOff;
        for (const RdmaDevice& device : node_.devices) {
          if (!device.pci.above.empty() && device.pci.above.back().address == bridge.address) {
            return {0x5d, 0x5d};  // 1x111x1
          }
        }
        return is_card(bridge) ? kAcsOfKernel : AcsRule{};
      case AcsTopology::switches:
        return kAcsOff;
    }
    return {};
  }

  std::string_view expected() const {
    switch (topology_) {
      case AcsTopology::data_direct:
        return "ReqRedir off and the others on at the Data Direct function's port, CmpltRedir off at "
               "the GPU's, SrcValid off at the root port";
      case AcsTopology::own_ports:
        return "whatever the kernel sets";
      case AcsTopology::inlined:
        return virtualized_
                   ? "on, and DirectTrans at the card's port: it has ATS, for virtual machines"
                   : "off on every bridge";
      case AcsTopology::switches:
        break;
    }
    return "off on every bridge";
  }

  bool off_wanted() const {
    return topology_ == AcsTopology::switches ||
           (topology_ == AcsTopology::inlined && !virtualized_);
  }

 private:
  /// A port of a switch within a card.
  bool is_card(const PciFunction& bridge) const {
    const std::string device = probe_.try_line(bridge.folder + "/device");
    return probe_.try_line(bridge.folder + "/vendor") == "0x15b3" &&
           (device == "0x197b" || device == "0x197c" || device == "0x1979");
  }

  /// For the ports at which the paths of a Data Direct function and its GPU part, and the root
  /// port.
  AcsRule of_data_direct(const PciFunction& bridge) const {
    for (const PciFunction& direct : node_.dma_functions) {
      for (const Gpu& gpu : node_.gpus) {
        const auto& own = direct.above;
        const auto& theirs = gpu.pci.above;
        std::size_t common = 0;
        while (common < std::min(own.size(), theirs.size()) &&
               own[common].address == theirs[common].address) {
          ++common;
        }
        if (common == 0) continue;
        if (bridge.address == own.front().address) return AcsRule{0x1d, 0x1c};  // xx111x0
        if (common < own.size() && bridge.address == own[common].address) {
          return AcsRule{0x1d, 0x19};  // xx110x1
        }
        if (common < theirs.size() && bridge.address == theirs[common].address) {
          return AcsRule{0x1d, 0x15};  // xx101x1
        }
      }
    }
    return {};  // elsewhere whatever the kernel sets
  }

  Probe& probe_;
  const Inventory& node_;
  AcsTopology topology_ = AcsTopology::switches;
  bool virtualized_ = false;
};

void acs(Probe& probe) {
  if (!has_pairs(probe)) return;
  if (probe.node().virtual_machine) {
    return probe.skip("a virtual machine needs it, together with address translation services");
  }
  const AcsRules rules(probe);
  std::string wrong;
  std::size_t there = 0;
  std::size_t read = 0;
  std::size_t judged = 0;
  for (const PciFunction& bridge : bridges(probe.node())) {
    ++there;
    const std::string bytes = probe.try_text(bridge.folder + "/config");
    const PciConfig space(bytes);
    if (!space.has_extended()) continue;
    ++read;
    const AcsRule rule = rules.of(bridge);
    const auto at = space.extended_capability(kAccessControlServices);
    if (rule.mask == 0 || (!at && rule.wanted != 0)) continue;
    ++judged;
    const std::uint32_t control = at ? space.word(*at + kControl).value_or(0) : 0;
    if ((control & rule.mask) != rule.wanted) {
      const std::string names = names_of(control);
      wrong += fmt::format("{}{}:{}", wrong.empty() ? "" : "; ", bridge.address,
                           names.empty() ? " off" : names);
    }
  }
  if (there == 0) return probe.skip("no bridge is above the GPUs and RDMA devices");
  if (read == 0) return probe.skip("only root reads the extended configuration space");
  probe.expect(std::string(rules.expected()), Source::standard);
  probe.observe(wrong.empty()
                    ? fmt::format("as expected on {} bridges{}", judged,
                                  read == there ? "" : fmt::format(", {} not read", there - read))
                    : wrong);
  if (wrong.empty()) return probe.pass();
  if (rules.off_wanted()) return probe.fail();
  probe.fail(
      "rdma_topo write-grub-acs, of rdma-core, writes the kernel's option pci=config_acs=; then restart.");
}

void ats(Probe& probe, const PciFunction& function) {
  if (probe.node().gpus.empty()) return probe.skip("this node has no GPU");
  if (!probe.node().virtual_machine) {
    return probe.skip("outside of a virtual machine access control is to be off instead");
  }
  const auto bytes = probe.text(function.folder + "/config");
  if (!bytes) return;
  const PciConfig space(*bytes);
  if (!space.has_extended())
    return probe.skip("only root reads the extended configuration space", Skipped::unread);
  const auto at = space.extended_capability(kAddressTranslation);
  if (!at) return probe.skip("the function lacks address translation services");
  const bool on = (space.word(*at + kControl).value_or(0) & 0x8000U) != 0;
  probe.judge_by(on, Status::warn, on ? "on" : "off", "on, in a virtual machine", Source::standard);
}

/// How many bridges above two functions are the same.
std::size_t common_bridges(const PciFunction& first, const PciFunction& second) {
  std::size_t same = 0;
  while (same < first.above.size() && same < second.above.size() &&
         first.above[same].address == second.above[same].address) {
    ++same;
  }
  return same;
}

/// In two groups the driver refuses the way between them. Source: rdma-core, kernel-boot/rdma_topo,
/// NVCX_DMA_Complex.
void data_direct(Probe& probe, const Gpu& gpu) {
  for (const PciFunction& dma : probe.node().dma_functions) {
    if (common_bridges(dma, gpu.pci) < 2) continue;  // a root port, and a switch
    const std::string own = probe.link_name(gpu.pci.folder + "/iommu_group");
    const std::string other = probe.link_name(dma.folder + "/iommu_group");
    const auto words = [](const std::string& group) { return group.empty() ? "none" : group; };
    return probe.judge_by(
        !own.empty() && own == other, Status::fail,
        fmt::format("group {}, and {} of {}", words(own), words(other), dma.address), "one group",
        Source::standard);
  }
  probe.skip("no Data Direct function shares a switch with it");
}

constexpr auto kIommuRows = std::to_array<Check>({
    {{.id = "iommu.device",
      .title = "Translation of the RDMA device's addresses",
      .reads = "D/iommu_group, sys/kernel/iommu_groups/*/type",
      .rule = "WARN if translated; SKIP in a virtual machine",
      .remedy = kPassThrough,
      .source = "Linux sysfs-kernel-iommu_groups; ROCm/cvs tests/platform/host_configs_cvs.py",
      .as_cause = "is behind an IOMMU that translates"},
     translation},
    {{
         .id = "iommu.gpu",
         .title = "Translation of the GPU's addresses",
         .reads = "D/iommu_group, sys/kernel/iommu_groups/*/type",
         .rests_on = "iommu.device",
         .rule = "WARN if translated; SKIP in a virtual machine",
         .remedy = kPassThrough,
         .source = "Linux sysfs-kernel-iommu_groups; ROCm/cvs tests/platform/host_configs_cvs.py",
         .as_cause = "is behind an IOMMU that translates",
     },
     [](Probe& probe, const Gpu& gpu) { translation(probe, gpu.pci); }},
    {{.id = "iommu.data_direct",
      .title = "IOMMU groups of the GPU and the function that reaches its memory",
      .reads = "D/iommu_group of the GPU and of 15b3:2100 at the same switch",
      .rule = "FAIL if not",
      .remedy =
          "rdma_topo write-grub-acs of rdma-core sets the bits of ACS that give one group; reboot.",
      .source = "rdma-core kernel-boot/rdma_topo"},
     data_direct},
    {{.id = "iommu.acs",
      .title = "Access control between GPUs and RDMA devices",
      .reads = "D/config of every bridge above them (Access Control Services)",
      .rule =
          "FAIL if any redirects; where the card itself has the switch, or a Data Direct function, FAIL unless as rdma_topo has it; SKIP in a virtual machine",
      .remedy =
          "Turn it off in the BIOS, or at each start on each bridge: setpci -s BRIDGE ECAP_ACS+6.w=0000.",
      .source =
          "rdma-core kernel-boot/rdma_topo; NCCL user guide, Troubleshooting, PCI Access Control Services",
      .root = true},
     acs},
    {{.id = "iommu.ats",
      .title = "Address translation services",
      .reads = "D/config (Address Translation Services)",
      .rule = "in a virtual machine with GPUs: WARN if the device has it, and it is off",
      .remedy = "Turn ATS on in the card's firmware and let the hypervisor pass it on.",
      .source = "NCCL user guide, Troubleshooting, PCI Access Control Services",
      .root = true},
     ats},
});

}  // namespace

constinit const std::span<const Check> kIommuChecks = kIommuRows;

}  // namespace rdmabench::inline v1::health

// Between devices: address translation, and access control services that redirect their traffic
// over the root port.
#include <array>
#include <set>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

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

/// The options on the kernel's command line that begin with one of these.
std::string options(Probe& probe, std::initializer_list<std::string_view> names) {
  std::string found;
  for (const std::string& word : words_of(probe.try_text("proc/cmdline"))) {
    for (const std::string_view name : names) {
      if (word.starts_with(name)) found += (found.empty() ? "" : " ") + word;
    }
  }
  return found;
}

void command_line(Probe& probe) {
  if (probe.list("sys/class/iommu").empty()) return probe.skip("the node shows no IOMMU");
  if (!probe.text("proc/cmdline")) return;
  const std::string found = options(probe, {"iommu=", "iommu.", "intel_iommu=", "amd_iommu="});
  probe.observe(found.empty() ? "no option" : found);
  probe.expect("iommu=pt or iommu.passthrough=1", Source::standard);
  const bool passed = found.find("iommu=pt") != std::string::npos ||
                      found.find("iommu.passthrough=1") != std::string::npos;
  if (passed) return probe.pass();
  // It may be the kernel's build default; then the groups show it.
  for (const RdmaDevice& device : probe.node().devices) {
    const std::string group = probe.link_name(device.pci.folder + "/iommu_group");
    if (group.empty()) continue;
    if (probe.try_line("sys/kernel/iommu_groups/" + group + "/type") == "identity") {
      return probe.skip("no option asks for it, and the devices' groups pass through all the same");
    }
  }
  if (probe.node().devices.empty()) return probe.skip("this node has no RDMA device");
  if (probe.node().virtual_machine) {
    return probe.skip("in a virtual machine the translation may be what isolates it");
  }
  probe.warn();
}

constexpr std::size_t kControl = 6;

/// Every bridge above a GPU or an RDMA device, once.
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

void acs(Probe& probe) {
  if (!has_pairs(probe)) return;
  if (probe.node().virtual_machine) {
    return probe.skip("a virtual machine needs it, together with address translation services");
  }
  std::string on;
  std::size_t judged = 0;
  for (const PciFunction& bridge : bridges(probe.node())) {
    const auto bytes = probe.text(bridge.folder + "/config");
    if (!bytes) return;
    const PciConfig space(*bytes);
    if (!space.has_extended()) {
      return probe.skip("only root reads the extended configuration space", Skipped::unread);
    }
    ++judged;
    const auto at = space.extended_capability(kAccessControlServices);
    const std::uint32_t control = at ? space.word(*at + kControl).value_or(0) : 0;
    // The bits that redirect, and source validation, which NCCL's documentation says to check.
    if ((control & 0x1dU) != 0) {
      on += fmt::format("{}{}:{}", on.empty() ? "" : "; ", bridge.address, names_of(control));
    }
  }
  if (judged == 0) return probe.skip("no bridge is above the GPUs and RDMA devices");
  probe.judge_by(on.empty(), Status::fail,
                 on.empty() ? fmt::format("off on {} bridges", judged) : on, "off on every bridge",
                 Source::standard);
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
  const bool on = at && (space.word(*at + kControl).value_or(0) & 0x8000U) != 0;
  probe.judge_by(on, Status::warn,
                 !at  ? "not there"
                 : on ? "on"
                      : "off",
                 "on, in a virtual machine", Source::standard);
}

constexpr std::string_view kPassThrough =
    "Start the kernel with iommu=pt (with intel_iommu=on or amd_iommu=on where it is wanted).";

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
      .source = "Linux sysfs-kernel-iommu_groups; ROCm/cvs",
      .as_cause = "is behind an IOMMU that translates"},
     translation},
    {{
         .id = "iommu.gpu",
         .title = "Translation of the GPU's addresses",
         .reads = "D/iommu_group, sys/kernel/iommu_groups/*/type",
         .rests_on = "iommu.device",
         .rule = "WARN if translated; SKIP in a virtual machine",
         .remedy = kPassThrough,
         .source = "Linux sysfs-kernel-iommu_groups; ROCm/cvs",
     },
     [](Probe& probe, const Gpu& gpu) { translation(probe, gpu.pci); }},
    {{.id = "iommu.data_direct",
      .title = "The GPU and the function that reaches its memory have one IOMMU group",
      .reads = "D/iommu_group of the GPU and of 15b3:2100 at the same switch",
      .rule = "FAIL if not",
      .remedy =
          "rdma_topo write-grub-acs of rdma-core sets the bits of ACS that give one group; reboot.",
      .source = "rdma-core kernel-boot/rdma_topo"},
     data_direct},
    {{.id = "iommu.command_line",
      .title = "Pass-through on the kernel's command line",
      .reads = "proc/cmdline, sys/class/iommu",
      .rule = "WARN with an IOMMU and without it, unless the groups pass through",
      .remedy = kPassThrough,
      .source = "Linux kernel-parameters; mlnx_tune",
      .compares = true},
     command_line},
    {{.id = "iommu.acs",
      .title = "Access control between GPUs and RDMA devices",
      .reads = "D/config of every bridge above them (Access Control Services)",
      .rule = "FAIL if any redirects; SKIP in a virtual machine",
      .remedy =
          "Turn it off in the BIOS, or at each start on each bridge: setpci -s BRIDGE ECAP_ACS+6.w=0000.",
      .source = "NCCL troubleshooting, PCI Access Control Services",
      .root = true},
     acs},
    {{.id = "iommu.ats",
      .title = "Address translation services",
      .reads = "D/config (Address Translation Services)",
      .rule = "in a virtual machine with GPUs: WARN if off",
      .remedy = "Turn ATS on in the card's firmware and let the hypervisor pass it on.",
      .source = "NCCL troubleshooting, virtual machines",
      .root = true},
     ats},
});

}  // namespace

constinit const std::span<const Check> kIommuChecks = kIommuRows;

}  // namespace rdmabench::inline v1::health

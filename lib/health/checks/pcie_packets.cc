// Packets on that path: how large they are, and in which order they may arrive.
#include <algorithm>
#include <array>

#include "../firmware.h"
#include "pcie.h"

namespace rdmabench::inline v1::health {
namespace {

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
  const double rate = device_rates(probe, device).together;
  const std::uint32_t wanted = rate >= 200 ? 4096 : 512;
  // Linux drivers/pci/probe.c, pcie_write_mrrs(), lowers it to the size of payloads then.
  probe.judge_by(size >= wanted, Status::warn, fmt::format("{} B", size),
                 fmt::format("at least {} B at {:g} Gb/s", wanted, rate), Source::standard,
                 kernel_sets_performance(probe)
                     ? "Start the kernel without pci=pcie_bus_perf, which lowers it to MaxPayload."
                     : "");
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

/// The judged device before it that sends packets as large over that bridge; null for none.
const RdmaDevice* told_with(Probe& probe, const PciFunction& function, const PciFunction& bridge,
                            std::uint32_t size) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (device.pci.address == function.address) break;
    if (!device.unused.empty() || !is_below(device.pci, bridge)) continue;
    const auto own = pci_express_capability(probe, device.pci);
    if (own && payload_bytes(own->control >> 5) >= size) return &device;
  }
  return nullptr;
}

/// FAIL where a bridge on the way takes smaller packets than the function sends: it drops them. A
/// function may send less, and the kernel may set it so: Linux drivers/pci/probe.c,
/// pcie_write_mps().
void payload_of_path(Probe& probe, const PciFunction& function) {
  if (function.above.empty()) return probe.skip("no bridge is above it");
  if (probe.node().virtual_machine) return probe.skip(std::string(kEmulated));
  const auto own = pci_express_capability(probe, function);
  if (!own) return;
  const std::uint32_t size = payload_bytes(own->control >> 5);
  probe.expect("at most what every bridge above takes", Source::standard);
  std::string told;
  for (const PciFunction& bridge : function.above) {
    const auto above = pci_express_capability(probe, bridge);
    if (!above) return;
    const std::uint32_t other = payload_bytes(above->control >> 5);
    if (other >= size) continue;
    const RdmaDevice* const first = told_with(probe, function, bridge, size);
    if (first == nullptr) {
      probe.observe(fmt::format("{} B, {} of {}", size, other, bridge.address));
      return probe.fail();
    }
    told = fmt::format("{} takes less, which is told with {}", bridge.address, first->name);
  }
  if (!told.empty()) return probe.skip(told);
  probe.observe(fmt::format("{} B, and no bridge takes less", size));
  probe.pass();
}

void max_payload(Probe& probe, const PciFunction& function) {
  payload_of_path(probe, function);
  if (probe.status() != Status::pass) return;
  const auto own = pci_express_capability(probe, function);
  const auto above = pci_express_capability(probe, function.above.back());
  constexpr std::uint32_t kLeast = 256;  // with 128, headers take a sixth of the link
  const std::uint32_t could =
      std::min(payload_bytes(own->capabilities), payload_bytes(above->capabilities));
  probe.expect(
      fmt::format("at most what every bridge above takes, and at least {} B where both ends of the "
                  "link could do that",
                  kLeast),
      Source::standard);
  probe.judge_by(payload_bytes(own->control >> 5) >= std::min(could, kLeast), Status::warn);
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

constexpr auto kPciePacketRows = std::to_array<Check>({
    {{.id = "pcie.max_read_request",
      .title = "Size of read requests",
      .reads = "D/config (Device Control), D/physfn, proc/cmdline",
      .rests_on = "pcie.alive",
      .rule = "WARN below 4096 B from 200 Gb/s on, else below 512 B",
      .remedy = "Set it with setpci -s DEVICE CAP_EXP+8.w=5000:f000, at each start.",
      .source = "mlnx-tools python/mlnx_tune; Linux drivers/pci/probe.c pcie_write_mrrs",
      .compares = true,
      .root = true},
     max_read_request},
    {{.id = "pcie.max_payload",
      .title = "Size of payloads",
      .reads = "D/config (Device Control), and of every bridge above; D/physfn",
      .rests_on = "pcie.alive",
      .rule =
          "FAIL if a bridge above takes less; WARN at 128 B if both ends of the link could do 256",
      .remedy =
          "Set it in the BIOS, or start the kernel with pci=pcie_bus_safe, without pcie_bus_tune_off. (pcie_bus_perf lowers the "
          "size of read requests too.)",
      .source =
          "Linux drivers/pci/probe.c pcie_write_mps; PCI Express specification 6.0, 2.2.2 and 9.3.5.4",
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
});

}  // namespace

constinit const std::span<const Check> kPciePacketChecks = kPciePacketRows;

}  // namespace rdmabench::inline v1::health

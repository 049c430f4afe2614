// Errors that functions on that path have counted.
#include <algorithm>
#include <array>

#include "pcie.h"

namespace rdmabench::inline v1::health {
namespace {

/// The first device that is judged below a bridge, of several the one with which the bridge is
/// told; null for none.
const RdmaDevice* first_below(Probe& probe, const PciFunction& bridge) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (device.unused.empty() && is_below(device.pci, bridge)) return &device;
  }
  return nullptr;
}

/// Whether the kernel hears of errors below a root port. Where the firmware keeps them for itself,
/// the counters stay zero. The AER service of a root port is 002. Source: Linux pcie/portdrv.c.
bool hears_errors(const Probe& probe, const std::string& root_port) {
  return probe.exists("sys/bus/pci_express/drivers/aer/" + root_port + ":pcie002");
}

constexpr std::string_view kUnheard =
    "the kernel hears of no PCIe error here (the firmware keeps them, or it is a guest): zero tells "
    "nothing";

/// An advanced error reporting file, the name of the total in its last line, and how many are too
/// many. Source: sysfs-bus-pci-devices-aer.
struct ErrorKind {
  std::string_view file;
  std::string_view total;
  std::uint64_t most;
  Status bad;
};
constexpr ErrorKind kFatal{"fatal", "TOTAL_ERR_FATAL", 0, Status::fail};
constexpr ErrorKind kNonfatal{"nonfatal", "TOTAL_ERR_NONFATAL", 0, Status::warn};
constexpr ErrorKind kCorrectable{"correctable", "TOTAL_ERR_COR", 100, Status::warn};

/// None, with the finding an ERROR, where the text has no total.
std::optional<std::uint64_t> total_of(Probe& probe, const PciFunction& function,
                                      const ErrorKind& kind, const std::string& text) {
  const auto total = to_number(value_after(text, kind.total));
  if (!total) {
    probe.error(fmt::format("{}: aer_dev_{} has no {}", function.address, kind.file, kind.total));
  }
  return total;
}

void errors(Probe& probe, const PciFunction& function, const ErrorKind& kind) {
  const auto text = probe.text(fmt::format("{}/aer_dev_{}", function.folder, kind.file));
  if (!text) return;
  const auto count = total_of(probe, function, kind, *text);
  if (!count) return;
  std::string which;
  for (const std::string& line : lines_of(*text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() == 2 && words[1] != "0" && words[0] != kind.total) which += ' ' + line;
  }
  if (*count == 0 &&
      (function.above.empty() || !hears_errors(probe, function.above.front().address))) {
    return probe.skip(std::string(kUnheard));
  }
  probe.judge_by(*count <= kind.most, kind.bad,
                 fmt::format("{}{}", *count, which.empty() ? "" : ":" + which),
                 fmt::format("at most {} since the node was started", kind.most), Source::standard);
}

void correctable(Probe& probe, const PciFunction& function) {
  errors(probe, function, kCorrectable);
}

void nonfatal(Probe& probe, const PciFunction& function) {
  errors(probe, function, kNonfatal);
}

void fatal(Probe& probe, const PciFunction& function) {
  errors(probe, function, kFatal);
}

/// The errors of several functions below one root port; the worst kind that any has too many of
/// counts.
void errors_of(Probe& probe, const std::vector<const PciFunction*>& functions,
               const std::string& root_port) {
  probe.expect("none but 100 that were corrected, since the node was started", Source::standard);
  std::uint64_t sum = 0;
  bool any = false;
  for (const ErrorKind& kind : {kFatal, kNonfatal, kCorrectable}) {
    for (const PciFunction* const function : functions) {
      const std::string text =
          probe.try_text(fmt::format("{}/aer_dev_{}", function->folder, kind.file));
      if (text.empty()) continue;
      const auto count = total_of(probe, *function, kind, text);
      if (!count) return;
      any = true;
      sum += *count;
      if (*count <= kind.most) continue;
      probe.observe(fmt::format("{} {} errors at {}", *count, kind.file, function->address));
      return probe.judge_by(false, kind.bad);
    }
  }
  if (!any) return probe.skip("none of them counts errors");
  if (sum == 0 && !hears_errors(probe, root_port)) return probe.skip(std::string(kUnheard));
  probe.observe(fmt::format("{}, all corrected", sum));
  probe.pass();
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

constexpr auto kPcieErrorRows = std::to_array<Check>({
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
    {{.id = "gpu.pcie_errors",
      .title = "PCIe errors of the GPU and of bridges that are its own",
      .reads = "aer_dev_{fatal,nonfatal,correctable} of D and of bridges above",
      .rests_on = "gpu.driver",
      .rule = "FAIL above 0 fatal; WARN above 0 uncorrectable or 100 correctable",
      .remedy = "Reseat the GPU or its riser.",
      .source = "Linux sysfs-bus-pci-devices-aer, pcie/portdrv.c",
      .action = action::kReseat},
     gpu_errors},
});

}  // namespace

constinit const std::span<const Check> kPcieErrorChecks = kPcieErrorRows;

}  // namespace rdmabench::inline v1::health

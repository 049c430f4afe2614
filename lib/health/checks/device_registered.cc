// Which PCI functions should have an RDMA device, and why one has none.
#include <algorithm>
#include <map>
#include <set>

#include "../kernel_log.h"
#include "device.h"

namespace rdmabench::inline v1::health {
namespace {

bool has_device(Probe& probe, const RdmaFunction& function) {
  return !probe.list(function.pci.folder + "/infiniband").empty();
}

/// Whether the RDMA device of a function can be in another network namespace.
bool may_be_elsewhere(Probe& probe, const RdmaFunction& function) {
  if (function.is_virtual || function.driver == "vfio-pci") return true;
  if (function.driver.empty()) {
    // Somebody meant it for another driver. Else its own did not take it: a card that is dead.
    const std::string meant = probe.try_line(function.pci.folder + "/driver_override");
    return !meant.empty() && meant != "(null)";
  }
  const bool loaded = probe.exists("sys/module/" + function.module);
  const bool container = probe.exists(".dockerenv") || probe.exists("run/.containerenv");
  const auto& devices = probe.node().devices;
  const bool child = std::any_of(devices.begin(), devices.end(), [&](const RdmaDevice& device) {
    return device.parent == function.pci.address;
  });
  return child || (container && loaded);
}

/// A node may have other network cards that nobody wants RDMA of. So an Ethernet function counts
/// where another of its kind has a device, or nothing has.
bool should_have_device(Probe& probe, const RdmaFunction& function) {
  if (function.always) return true;
  if (probe.node().devices.empty()) return true;
  const auto& all = probe.node().rdma_functions;
  return std::any_of(all.begin(), all.end(), [&](const RdmaFunction& other) {
    return other.ids == function.ids && has_device(probe, other);
  });
}

/// Whether a line of the kernel's log, which log.* judges, says that its driver could not start it.
bool log_tells(Probe& probe, const RdmaFunction& function) {
  if (!function.driver.empty()) return false;
  for (const std::string& line : lines_of(probe.try_text("rdmabench/kernel_log"))) {
    if (line.find(function.pci.address) == std::string::npos) continue;
    const auto known = known_line(line);
    if (known && known->status == Status::fail) return true;
  }
  return false;
}

/// Whether its network device is in one bond with that of another function of the slot that has an
/// RDMA device: of NVIDIA's cards the kernel makes one of both, in modes of a bond that their
/// switches know. Source: Linux mlx5/core/lag/lag.c.
bool is_bonded(Probe& probe, const RdmaFunction& function) {
  if (function.driver != "mlx5_core" && function.driver != "mlx4_core") return false;
  const auto bonds = [&](const RdmaFunction& one) {
    std::set<std::string> names;
    for (const std::string& interface : probe.list(one.pci.folder + "/net")) {
      const std::string master = fmt::format("{}/net/{}/master", one.pci.folder, interface);
      const std::string name = probe.link_name(master);
      if (name.empty()) continue;
      const std::string mode = probe.try_line(master + "/bonding/mode");  // "802.3ad 4"
      for (const std::string_view known : {"active-backup ", "balance-xor ", "802.3ad "}) {
        if (mode.starts_with(known)) names.insert(name);
      }
    }
    return names;
  };
  const std::set<std::string> own = bonds(function);
  if (own.empty()) return false;
  const auto& all = probe.node().rdma_functions;
  return std::any_of(all.begin(), all.end(), [&](const RdmaFunction& other) {
    return other.pci.slot() == function.pci.slot() && bonds(other) == own &&
           has_device(probe, other);
  });
}

}  // namespace

void registered(Probe& probe) {
  std::map<std::string, std::vector<const RdmaFunction*>> missing;  // by module
  std::string recovery;
  std::string in_log;
  std::size_t judged = 0;
  bool always = false;
  for (const RdmaFunction& function : probe.node().rdma_functions) {
    const bool has = has_device(probe, function);
    if (!has && (may_be_elsewhere(probe, function) || !should_have_device(probe, function) ||
                 is_bonded(probe, function))) {
      continue;
    }
    if (!has && log_tells(probe, function)) {
      in_log += ' ' + function.pci.address;
      continue;
    }
    ++judged;
    if (has) continue;
    if (function.recovery) {
      recovery += fmt::format("{}{} ({}) is a card without firmware", recovery.empty() ? "" : "; ",
                              function.pci.address, function.ids);
      continue;
    }
    missing[function.module].push_back(&function);
    always = always || function.always;
  }
  if (judged == 0 && !in_log.empty()) {
    return probe.skip(fmt::format("the kernel's log tells why not:{}", in_log), Skipped::symptom);
  }
  if (judged == 0) return probe.skip("no PCI function of this node should have an RDMA device");
  probe.expect(fmt::format("an RDMA device for each of {} PCI functions", judged), Source::derived);
  probe.observe(fmt::format("all {}", judged));
  if (!recovery.empty()) {
    probe.observe(recovery);
    probe.action(action::kUpdateSoftware);
    return probe.fail(
        "Burn the card's firmware again: mstflint -d ADDRESS -i IMAGE burn; then turn "
        "the node's power off and on.");
  }
  if (missing.empty()) return probe.pass();
  std::string observed;
  std::string remedy;
  for (const auto& [module, functions] : missing) {
    observed += fmt::format("{}{} PCI function{} no RDMA device:", observed.empty() ? "" : "; ",
                            functions.size(), functions.size() == 1 ? " has" : "s have");
    for (const RdmaFunction* const function : functions) observed += ' ' + function->pci.address;
    const RdmaFunction& first = *functions.front();
    observed += fmt::format(" ({}, {})", first.ids,
                            first.driver.empty() ? "no driver" : "driver " + first.driver);
    if (module.empty()) {
      remedy += "Read the kernel's log for why the driver failed. ";
    } else if (probe.exists("sys/module/" + module)) {
      remedy += fmt::format(
          "{} is loaded and took none: read the kernel's log for why, and update the firmware. ",
          module);
    } else {
      remedy += fmt::format(
          "modprobe {0}, and name it in /etc/modules-load.d; where there is no such module, install "
          "it (Ubuntu's cloud kernels: linux-modules-extra-$(uname -r)). ",
          module);
    }
  }
  remedy.pop_back();
  probe.observe(observed);
  const auto number = number_of_devices(probe);
  const std::size_t devices = probe.node().devices.size();
  const bool wanted =
      number ? devices < *number : devices == 0 && wanted_of_device(probe) != nullptr;
  always || wanted ? probe.fail(remedy) : probe.warn(remedy);
}

}  // namespace rdmabench::inline v1::health

// The device on the bus.
#include <algorithm>
#include <array>

#include "base/port_rate.h"
#include "pcie.h"

namespace rdmabench::inline v1::health {

bool is_below(const PciFunction& function, const PciFunction& bridge) {
  const auto& above = function.above;
  return std::any_of(above.begin(), above.end(),
                     [&](const PciFunction& one) { return one.address == bridge.address; });
}

Rates device_rates(Probe& probe, const RdmaDevice& device) {
  const SysfsFiles files{
      .first_line = [&](const std::string& path) { return probe.try_line(path); },
      .list = [&](const std::string& path) { return probe.list(path); },
      .resolve = [&](const std::string& path) { return probe.resolve(path); }};
  Rates rates;
  for (const RdmaPort& port : device.ports) {
    const std::string text = probe.try_line(port.folder + "/rate");
    const double rate =
        known_rate(parse_port_rate(text), device.driver) * port_data_share(text, port.infiniband());
    rates = {rates.together + rate, std::max(rates.one_port, rate)};
  }
  rates.together *= bonded_ports(files, device.driver, device.folder);
  return rates;
}

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

namespace {

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

constexpr auto kPcieRows = std::to_array<Check>({
    {{.id = "pcie.alive",
      .title = "Answer of the device",
      .reads = "D/config (the first 4 bytes)",
      .rule = "FAIL if all ones",
      .remedy =
          "The device has fallen off the bus: restart the node, and have the card changed if it happens again.",
      .source = "oci-hpc healthchecks/files/check_gpu_setup.py (rev ff)",
      .as_cause = "has fallen off the bus",
      .action = action::kReboot},
     alive},
    {{.id = "pcie.bus_master",
      .title = "Permission to reach memory",
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

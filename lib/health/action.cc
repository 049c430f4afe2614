#include <algorithm>
#include <array>

#include "action.h"
#include "rdmabench/health/doctor.h"

namespace rdmabench::health {
namespace {

struct Row {
  std::string_view check;  ///< an id
  std::string_view action;
};

/// Nearest to the first step of the remedy. Of all others a setting is to be changed; a line of the
/// kernel's log has its own.
constexpr std::array kActions = std::to_array<Row>({
    {"port.phys_state", action::kReplaceCable},
    {"port.rate", action::kReplaceCable},
    {"port.lanes", action::kReplaceCable},
    {"port.flaps", action::kReplaceCable},
    {"port.module", action::kReplaceCable},
    {"counter.symbol_error", action::kReplaceCable},
    {"counter.link_error_recovery", action::kReplaceCable},
    {"counter.link_downed", action::kReplaceCable},
    {"counter.receive_errors", action::kReplaceCable},
    {"counter.link_integrity", action::kReplaceCable},
    {"counter.crc", action::kReplaceCable},
    {"counter.fec", action::kReplaceCable},
    {"device.count", action::kReseat},
    {"pcie.width", action::kReseat},
    {"pcie.speed", action::kReseat},
    {"pcie.path", action::kReseat},
    {"pcie.status", action::kReseat},
    {"pcie.correctable", action::kReseat},
    {"pcie.nonfatal", action::kReseat},
    {"pcie.fatal", action::kReseat},
    {"gpu.width", action::kReseat},
    {"pcie.bridges", action::kReboot},
    {"pcie.alive", action::kReboot},
    {"gpu.count", action::kReboot},
    {"os.tainted", action::kReboot},
    {"device.abi", action::kUpdateSoftware},
    {"device.umad_abi", action::kUpdateSoftware},
    {"device.firmware", action::kUpdateSoftware},
    {"gpu.gdrcopy", action::kUpdateSoftware},
    {"gpu.stream_mem_ops", action::kUpdateSoftware},
    {"numa.hwloc", action::kUpdateSoftware},
    {"cpu.microcode", action::kUpdateSoftware},
    {"software.libraries", action::kUpdateSoftware},
    {"software.one_release", action::kUpdateSoftware},
    {"software.kernel", action::kUpdateSoftware},
    {"software.os", action::kUpdateSoftware},
    {"software.driver", action::kUpdateSoftware},
    {"software.gpu_driver", action::kUpdateSoftware},
    {"software.bios", action::kUpdateSoftware},
    {"counter.remote_physical", action::kInvestigate},
    {"counter.buffer_overrun", action::kInvestigate},
    {"counter.constraint", action::kInvestigate},
    {"counter.transmit_discards", action::kInvestigate},
    {"counter.transmit_wait", action::kInvestigate},
    {"counter.retransmissions", action::kInvestigate},
    {"counter.receiver_not_ready", action::kInvestigate},
    {"counter.damaged", action::kInvestigate},
    {"counter.given_up", action::kInvestigate},
    {"gpu.speed", action::kInvestigate},
    {"numa.memory", action::kInvestigate},
    {"cpu.clock_source", action::kInvestigate},
    {"cpu.model", action::kInvestigate},
    {"os.load", action::kInvestigate},
    {"software.product", action::kInvestigate},
    {"software.virtual", action::kInvestigate},
    {"cpu.tsc", action::kAskVendor},
    {"cpu.throttled", action::kAskVendor},
});

}  // namespace

std::string_view action_of(const Finding& finding) noexcept {
  if (finding.status != Status::fail && finding.status != Status::warn) return "";
  if (!finding.action.empty()) return finding.action;
  const auto* const found = std::find_if(
      kActions.begin(), kActions.end(), [&](const Row& row) { return finding.check == row.check; });
  return found == kActions.end() ? action::kChangeSetting : found->action;
}

}  // namespace rdmabench::health

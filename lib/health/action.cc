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

/// Of all others the setting is to be changed, but for the lines of the kernel's log, which say.
constexpr std::array<Row, 29> kActions{{
    {"port.phys_state", action::kReplaceCable},
    {"port.rate", action::kReplaceCable},
    {"port.lanes", action::kReplaceCable},
    {"port.flaps", action::kReplaceCable},
    {"port.module", action::kReplaceCable},
    {"counter.symbol_error", action::kReplaceCable},
    {"counter.link_error_recovery", action::kReplaceCable},
    {"counter.link_downed", action::kReplaceCable},
    {"counter.receive_errors", action::kReplaceCable},
    {"counter.remote_physical", action::kReplaceCable},
    {"counter.link_integrity", action::kReplaceCable},
    {"counter.damaged", action::kReplaceCable},
    {"counter.crc", action::kReplaceCable},
    {"counter.fec", action::kReplaceCable},
    {"device.count", action::kReseat},
    {"pcie.width", action::kReseat},
    {"pcie.speed", action::kReseat},
    {"pcie.path", action::kReseat},
    {"pcie.bridges", action::kReseat},
    {"pcie.correctable", action::kReseat},
    {"gpu.count", action::kReseat},
    {"gpu.width", action::kReseat},
    {"gpu.speed", action::kReseat},
    {"pcie.nonfatal", action::kReboot},
    {"pcie.fatal", action::kReboot},
    {"pcie.alive", action::kReboot},
    {"os.tainted", action::kReboot},
    {"cpu.throttled", action::kAskVendor},
    {"device.guid", action::kAskVendor},
}};

}  // namespace

std::string_view action_of(const Finding& finding) noexcept {
  if (finding.status != Status::fail && finding.status != Status::warn) return "";
  if (!finding.action.empty()) return finding.action;
  const auto* const found = std::find_if(
      kActions.begin(), kActions.end(), [&](const Row& row) { return finding.check == row.check; });
  return found == kActions.end() ? action::kChangeSetting : found->action;
}

}  // namespace rdmabench::health

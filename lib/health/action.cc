#include <algorithm>
#include <array>

#include "rdmabench/health/doctor.h"

namespace rdmabench::health {
namespace {

struct Row {
  std::string_view check;  ///< an id, or a group with its point
  std::string_view action;
};

/// Of all others the setting is to be changed.
constexpr std::string_view kChangeSetting = "change setting";
constexpr std::string_view kCable = "replace cable";
constexpr std::string_view kReseat = "reseat";
constexpr std::string_view kReboot = "reboot";
constexpr std::string_view kVendor = "ask vendor";
constexpr std::array<Row, 32> kActions{{
    {"port.phys_state", kCable},
    {"port.rate", kCable},
    {"port.lanes", kCable},
    {"port.flaps", kCable},
    {"port.module", kCable},
    {"counter.symbol_error", kCable},
    {"counter.link_error_recovery", kCable},
    {"counter.link_downed", kCable},
    {"counter.receive_errors", kCable},
    {"counter.remote_physical", kCable},
    {"counter.link_integrity", kCable},
    {"counter.damaged", kCable},
    {"counter.crc", kCable},
    {"counter.fec", kCable},
    {"device.count", kReseat},
    {"pcie.width", kReseat},
    {"pcie.speed", kReseat},
    {"pcie.path", kReseat},
    {"pcie.bridges", kReseat},
    {"pcie.correctable", kReseat},
    {"gpu.count", kReseat},
    {"gpu.width", kReseat},
    {"gpu.speed", kReseat},
    {"log.pcie", kReseat},
    {"pcie.nonfatal", kReboot},
    {"pcie.fatal", kReboot},
    {"pcie.alive", kReboot},
    {"os.tainted", kReboot},
    {"log.xid", kReboot},
    {"cpu.throttled", kVendor},
    {"device.guid", kVendor},
    {"log.", kVendor},
}};

}  // namespace

std::string_view action_of(const Finding& finding) noexcept {
  if (finding.status != Status::fail && finding.status != Status::warn) return "";
  const auto* const found = std::find_if(kActions.begin(), kActions.end(), [&](const Row& row) {
    return row.check.ends_with('.') ? finding.check.starts_with(row.check)
                                    : finding.check == row.check;
  });
  return found == kActions.end() ? kChangeSetting : found->action;
}

}  // namespace rdmabench::health

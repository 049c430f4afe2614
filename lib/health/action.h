// The action of each finding, for an operator. Private to this room.
#pragma once

#include <string_view>

namespace rdmabench::inline v1::health::action {

inline constexpr std::string_view kChangeSetting = "change setting";
inline constexpr std::string_view kReplaceCable = "replace cable";
inline constexpr std::string_view kReseat = "reseat";
inline constexpr std::string_view kReboot = "reboot";
inline constexpr std::string_view kUpdateSoftware = "update software";
inline constexpr std::string_view kInvestigate = "investigate";
inline constexpr std::string_view kRestartJob = "restart job";
inline constexpr std::string_view kAskVendor = "ask vendor";

}  // namespace rdmabench::inline v1::health::action

// What the firmware of a device is set to, which only its vendor's tools tell. Private to this
// room.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmabench::inline v1::health {

/// Begins the facts of a device that nothing was told of; the rest of the line is why.
inline constexpr std::string_view kNotTold = "not told: ";

/// What mstconfig, or where that is missing mlxconfig, prints of PCI_WR_ORDERING of the PCI
/// function at `address`; or kNotTold and why. The program is the first that is in one of
/// `folders`. It has no input and nothing of this process's environment, what it prints is kept to
/// 64 KiB, and it is killed at `limit`. Thread rule: any. Source: Mellanox/mstflint.
std::string firmware_facts(const std::string& address, std::span<const std::string_view> folders,
                           std::chrono::milliseconds limit);

/// A setting in the table that mstconfig and mlxconfig print.
struct FirmwareSetting {
  std::string now;   ///< what the device runs with: as `next` where its firmware does not tell
  std::string next;  ///< from the next reset on
};

/// The columns are those that the line "Configurations:" names; a mark may stand before `name`.
/// None where the setting is not there, or the text has another form.
std::optional<FirmwareSetting> firmware_setting(std::string_view text, std::string_view name);

}  // namespace rdmabench::inline v1::health

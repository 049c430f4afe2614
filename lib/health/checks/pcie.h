// What checks of the PCIe path share. Private to this room.
#pragma once

#include <optional>
#include <string>

#include "check.h"

namespace rdmabench::inline v1::health {

inline constexpr std::string_view kReseat =
    "Reseat the card or move it to another slot; look at the slot's width and speed in the BIOS.";

inline constexpr std::string_view kEmulated = "the bridges of a virtual machine are emulated";

bool is_below(const PciFunction& function, const PciFunction& bridge);

/// Of a device's ports, of their data, Gb/s.
struct Rates {
  double together = 0;  ///< with those of a bond
  double one_port = 0;  ///< the highest
};
Rates device_rates(Probe& probe, const RdmaDevice& device);

/// The first bytes of configuration space; none, with the finding SKIP, if they cannot be read.
std::optional<std::string> config(Probe& probe, const PciFunction& function);

}  // namespace rdmabench::inline v1::health

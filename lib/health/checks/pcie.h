// What checks of the PCIe path share. Private to this room.
#pragma once

#include <optional>
#include <string>

#include "check.h"

namespace rdmabench::inline v1::health {

inline constexpr std::string_view kReseat =
    "Reseat the card or move it to another slot; look at the slot's width and speed in the BIOS.";

bool is_below(const PciFunction& function, const PciFunction& bridge);

/// The rate of all ports of the device together, of a bond's too, of their data, Gb/s.
double device_rate(Probe& probe, const RdmaDevice& device);

/// The first bytes of configuration space; none, with the finding SKIP, if they cannot be read.
std::optional<std::string> config(Probe& probe, const PciFunction& function);

}  // namespace rdmabench::inline v1::health

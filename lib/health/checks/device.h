// What the checks of devices share. Private to this room.
#pragma once

#include <cstdint>
#include <optional>

#include "check.h"

namespace rdmabench::inline v1::health {

/// The first thing of a device that is expected; null if none is.
const ExpectationKey* wanted_of_device(Probe& probe);

/// How many devices are expected; none if that is not said.
std::optional<std::uint64_t> number_of_devices(Probe& probe);

/// The check device.registered.
void registered(Probe& probe);

}  // namespace rdmabench::inline v1::health

// What the numbers of NVIDIA's GPUs (Xid) and NVLink switches (SXid) in the kernel's log mean.
// Private to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernel_log.h"

namespace rdmabench::inline v1::health {

/// None for a number that tells of no fault.
std::optional<KnownLine> of_xid(std::uint32_t number, std::string_view line);

/// The same.
std::optional<KnownLine> of_sxid(std::uint32_t number, std::string_view line);

}  // namespace rdmabench::inline v1::health

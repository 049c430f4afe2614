// Allocates by the driver's virtual memory management.
#pragma once

#include <cstdint>

#include "gpu/context.h"

namespace rdmabench::gpu {

/// The allocation granularity in bytes. The context must be current. Throws Error(unavailable) if
/// the device or its driver does not support it, Error(failed).
std::uint64_t vmm_granularity(const Context& context);

/// Memory that its device can read and write, and a NIC too if the device supports it. The context
/// must be current. Throws Error(failed). Source: CUDA Driver API, cuMemCreate,
/// cuMemAddressReserve, cuMemMap, cuMemSetAccess.
DevicePointer map_vmm(const Context& context, std::uint64_t bytes, std::uint64_t granularity);

void unmap_vmm(const Driver& driver, DevicePointer data, std::uint64_t bytes) noexcept;

}  // namespace rdmabench::gpu

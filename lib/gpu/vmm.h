// Memory that is created and mapped, as the virtual memory management of the driver does it.
#pragma once

#include <cstdint>

#include "gpu/context.h"

namespace rdmabench::gpu {

/// Bytes that such memory of the context's device comes in whole units of. The context is current.
/// Throws Error(unavailable) where the device or its driver has none, Error(failed).
std::uint64_t vmm_granularity(const Context& context);

/// Memory that a NIC can reach where the device has such, readable and writable by its own device.
/// The context is current. Throws Error(failed). Source: CUDA Driver API, cuMemCreate,
/// cuMemAddressReserve, cuMemMap, cuMemSetAccess.
DevicePointer map_vmm(const Context& context, std::uint64_t bytes, std::uint64_t granularity);

void unmap_vmm(const Driver& driver, DevicePointer data, std::uint64_t bytes) noexcept;

}  // namespace rdmabench::gpu

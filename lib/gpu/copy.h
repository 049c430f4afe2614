// Copies to, from and within GPU memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/pinned_host.h"
#include "gpu/stream.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::gpu {

// These enqueue work in the stream, do not wait and do not allocate. Host memory must be pinned and
// outlive the copy, else the driver may wait without a limit. Each throws Error(failed) if the
// driver refuses.

void enqueue_copy_to_device(Stream& stream, DevicePointer to, const PinnedHost& from,
                            std::uint64_t bytes, std::uint64_t from_offset = 0);
void enqueue_copy_from_device(Stream& stream, PinnedHost& to, DevicePointer from,
                              std::uint64_t bytes, std::uint64_t to_offset = 0);
void enqueue_copy(Stream& stream, DevicePointer to, DevicePointer from, std::uint64_t bytes);
/// Sets every byte to `value`.
void enqueue_set(Stream& stream, DevicePointer to, std::byte value, std::uint64_t bytes);

/// A good size of a staging buffer. Making one takes the driver about 1 ms: keep it.
inline constexpr std::uint64_t kStagingBytes = 4U << 20;

// These copy any host memory through `staging`, piece by piece, after the work in the stream, and
// are complete when they return. Each throws as Stream::synchronize().

void copy_to_device(Stream& stream, PinnedHost& staging, DevicePointer to,
                    std::span<const std::byte> from, const Deadline& deadline);
void copy_from_device(Stream& stream, PinnedHost& staging, std::span<std::byte> to,
                      DevicePointer from, const Deadline& deadline);

}  // namespace rdmabench::inline v1::gpu

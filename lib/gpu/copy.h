// Bytes to, from and within a GPU's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/pinned_host.h"
#include "gpu/stream.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::gpu {

// Given to the stream and not waited for, without an allocation: host memory must be pinned and
// outlive the copy, or the driver may wait without a limit. Each throws Error(failed) where the
// driver refuses.

void enqueue_copy_to_device(Stream& stream, DevicePointer to, const PinnedHost& from,
                            std::uint64_t bytes, std::uint64_t from_offset = 0);
void enqueue_copy_from_device(Stream& stream, PinnedHost& to, DevicePointer from,
                              std::uint64_t bytes, std::uint64_t to_offset = 0);
void enqueue_copy(Stream& stream, DevicePointer to, DevicePointer from, std::uint64_t bytes);
/// Every byte becomes `value`.
void enqueue_set(Stream& stream, DevicePointer to, std::byte value, std::uint64_t bytes);

// Done when they return: any host memory, through a pinned buffer of the call's own. They come
// after what the stream holds. Each throws as Stream::synchronize() does.

void copy_to_device(Stream& stream, DevicePointer to, std::span<const std::byte> from,
                    const Deadline& deadline);
void copy_from_device(Stream& stream, std::span<std::byte> to, DevicePointer from,
                      const Deadline& deadline);

}  // namespace rdmabench::gpu

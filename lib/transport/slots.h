// How an endpoint's memory is cut into slots. Both sides cut alike, so that an offset means the
// same on either.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport {

/// Throws Error(usage) for what was asked for and would silently not be done: words off their
/// place, lists that never find room, messages that overlap.
inline void check_messages(const EndpointRequest& request) {
  const EndpointOptions& options = request.options;
  if (request.operations.any(acts_on_word) && options.misalignment % kAtomicBytes != 0) {
    throw Error(Fault::usage,
                fmt::format("atomics on words that are off by {} bytes", options.misalignment),
                "Atomics act on 8 bytes at a multiple of 8.");
  }
  if (options.post_list == 0 || options.post_list > request.depth) {
    throw Error(
        Fault::usage,
        fmt::format("lists of {} posts with a depth of {}", options.post_list, request.depth),
        "Take `post_list` from 1 to `depth`.");
  }
  if (request.slot_stride != 0 && request.slot_stride < request.max_size + options.misalignment) {
    throw Error(Fault::usage, fmt::format("messages of {} bytes do not fit into slots of {} bytes",
                                          request.max_size, request.slot_stride));
  }
}

/// Bytes from one slot to the next.
inline std::uint64_t stride_of(const EndpointRequest& request) {
  return request.slot_stride != 0 ? request.slot_stride : memory::slot_stride(request.max_size);
}

/// Room for `slots` of them, and to begin off a cache line.
inline std::uint64_t bytes_of(const EndpointRequest& request, std::uint32_t slots) {
  return stride_of(request) * slots + request.options.misalignment;
}

/// The caller's memory for region 0; empty where the endpoint allocates.
inline std::span<std::byte> first_buffer(const EndpointRequest& request) {
  return request.buffers.empty() ? std::span<std::byte>() : request.buffers.front();
}

/// The caller's memory for the regions behind region 0. Throws Error(usage) where one of `buffers`
/// is empty, or there are too many.
inline std::span<const std::span<std::byte>> more_buffers(const EndpointRequest& request) {
  const std::span all(request.buffers);
  if (all.size() > kMaxRegions) {
    throw Error(Fault::usage, fmt::format("{} `buffers`", all.size()),
                fmt::format("Bring at most {}.", kMaxRegions));
  }
  for (const std::span<std::byte> one : all) {
    if (one.empty()) throw Error(Fault::usage, "one of `buffers` is empty", "Leave it out.");
  }
  return all.empty() ? all : all.subspan(1);
}

/// Memory for slots: the caller's `buffer`, or as much as they need of the kind asked for. Throws
/// Error(usage) where the caller's does not hold one message: what arrives would lie behind it.
inline memory::Buffer make_slots(memory::Request where, std::span<std::byte> buffer,
                                 const EndpointRequest& request, std::uint32_t slots) {
  if (!buffer.empty() && buffer.size() < request.max_size) {
    throw Error(Fault::usage, "memory of the caller that is smaller than `max_size`",
                "Bring more of it, or open the endpoint for smaller messages.");
  }
  where.existing = buffer.data();
  return {where, buffer.empty() ? bytes_of(request, slots) : buffer.size()};
}

/// The slots in it. The caller's memory is cut from its first byte on, and all of it.
inline Region region_of(const memory::Buffer& memory, std::span<std::byte> buffer,
                        const EndpointRequest& request, std::uint32_t slots) {
  const std::uint64_t stride = stride_of(request);
  if (buffer.empty()) return {memory.data() + request.options.misalignment, stride, slots};
  return {memory.data(), stride,
          static_cast<std::uint32_t>(std::max<std::uint64_t>(1, memory.size() / stride))};
}

/// What the peer may touch of a window: the slots, or all of the caller's memory.
inline std::uint64_t window_bytes(const Region& window, const EndpointRequest& request) {
  return request.buffers.empty() ? window.stride * window.slots : first_buffer(request).size();
}

}  // namespace rdmabench::inline v1::transport

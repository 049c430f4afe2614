// How an endpoint's memory is cut into slots. Both sides cut alike, so that an offset means the
// same on either.
#pragma once

#include <cstdint>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::transport {

/// Bytes from one slot to the next.
inline std::uint64_t stride_of(const EndpointRequest& request) {
  return request.slot_stride != 0 ? request.slot_stride : memory::slot_stride(request.max_size);
}

/// Room for `slots` of them, and to begin off a cache line.
inline std::uint64_t bytes_of(const EndpointRequest& request, std::uint32_t slots) {
  return stride_of(request) * slots + request.misalignment;
}

/// The slots in memory of bytes_of() bytes.
inline Region region_of(const memory::Buffer& memory, const EndpointRequest& request,
                        std::uint32_t slots) {
  return {memory.data() + request.misalignment, stride_of(request), slots};
}

}  // namespace rdmabench::transport

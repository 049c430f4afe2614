#include "gpu/copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu/cuda_error.h"

namespace rdmabench::inline v1::gpu {
namespace {

void require_inside(const PinnedHost& host, std::uint64_t offset, std::uint64_t bytes) {
  if (offset <= host.size() && bytes <= host.size() - offset) return;
  throw Error(Fault::usage,
              fmt::format("invalid range of {} bytes at offset {} in pinned memory of {} bytes",
                          bytes, offset, host.size()),
              "A copy must be within its buffer");
}

}  // namespace

void enqueue_copy_to_device(Stream& stream, DevicePointer to, const PinnedHost& from,
                            std::uint64_t bytes, std::uint64_t from_offset) {
  require_inside(from, from_offset, bytes);
  const CurrentContext current(stream.context());
  const Driver& driver = stream.context().driver();
  const cuda::Result result =
      driver.memcpy_h_to_d_async(to, from.data() + from_offset, bytes, stream.get());
  if (result != cuda::kSuccess) {
    throw cuda_error(driver, result,
                     fmt::format("cuMemcpyHtoDAsync({} bytes to {:#x})", bytes, to));
  }
}

void enqueue_copy_from_device(Stream& stream, PinnedHost& to, DevicePointer from,
                              std::uint64_t bytes, std::uint64_t to_offset) {
  require_inside(to, to_offset, bytes);
  const CurrentContext current(stream.context());
  const Driver& driver = stream.context().driver();
  const cuda::Result result =
      driver.memcpy_d_to_h_async(to.data() + to_offset, from, bytes, stream.get());
  if (result != cuda::kSuccess) {
    throw cuda_error(driver, result,
                     fmt::format("cuMemcpyDtoHAsync({} bytes from {:#x})", bytes, from));
  }
}

void enqueue_copy(Stream& stream, DevicePointer to, DevicePointer from, std::uint64_t bytes) {
  const CurrentContext current(stream.context());
  const Driver& driver = stream.context().driver();
  const cuda::Result result = driver.memcpy_d_to_d_async(to, from, bytes, stream.get());
  if (result != cuda::kSuccess) {
    throw cuda_error(
        driver, result,
        fmt::format("cuMemcpyDtoDAsync({} bytes from {:#x} to {:#x})", bytes, from, to));
  }
}

void enqueue_set(Stream& stream, DevicePointer to, std::byte value, std::uint64_t bytes) {
  const CurrentContext current(stream.context());
  const Driver& driver = stream.context().driver();
  const cuda::Result result =
      driver.memset_d8_async(to, static_cast<unsigned char>(value), bytes, stream.get());
  if (result != cuda::kSuccess) {
    throw cuda_error(driver, result, fmt::format("cuMemsetD8Async({} bytes at {:#x})", bytes, to));
  }
}

void copy_to_device(Stream& stream, PinnedHost& staging, DevicePointer to,
                    std::span<const std::byte> from, const Deadline& deadline) {
  for (std::uint64_t at = 0; at < from.size(); at += staging.size()) {
    const std::uint64_t bytes = std::min(staging.size(), from.size() - at);
    std::memcpy(staging.data(), from.data() + at, bytes);
    enqueue_copy_to_device(stream, to + at, staging, bytes);
    stream.synchronize(deadline, "a copy to the GPU");
  }
}

void copy_from_device(Stream& stream, PinnedHost& staging, std::span<std::byte> to,
                      DevicePointer from, const Deadline& deadline) {
  for (std::uint64_t at = 0; at < to.size(); at += staging.size()) {
    const std::uint64_t bytes = std::min(staging.size(), to.size() - at);
    enqueue_copy_from_device(stream, staging, from + at, bytes);
    stream.synchronize(deadline, "a copy from the GPU");
    std::memcpy(to.data() + at, staging.data(), bytes);
  }
}

}  // namespace rdmabench::inline v1::gpu

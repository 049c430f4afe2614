#include "gpu/pinned_host.h"

#include <fmt/format.h>

#include <utility>

#include "context_access.h"
#include "gpu/cuda_error.h"

namespace rdmabench::gpu {

PinnedHost::PinnedHost(const Context& context, std::uint64_t bytes)
    : context_(context), size_(bytes) {
  if (bytes == 0) {
    throw Error(Fault::usage, "invalid size of pinned host memory: 0 bytes",
                "It must be at least 1 byte");
  }
  const CurrentContext current(context_);
  const Driver& driver = context_.driver();
  void* pages = nullptr;
  // Portable: a staging buffer may be used by several GPUs.
  check(driver,
        driver.mem_host_alloc(&pages, bytes, cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap),
        fmt::format("cuMemHostAlloc({} bytes)", bytes),
        "Page-locked memory cannot be swapped: use less, and check free -m and ulimit -l");
  data_ = static_cast<std::byte*>(pages);
  const cuda::Result result = driver.mem_host_get_device_pointer(&device_data_, pages, 0);
  if (result == cuda::kSuccess) return;
  release();
  throw cuda_error(driver, result, "cuMemHostGetDevicePointer()");
}

PinnedHost::~PinnedHost() {
  release();
}

PinnedHost::PinnedHost(PinnedHost&& other) noexcept
    : context_(other.context_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      device_data_(std::exchange(other.device_data_, 0)) {}

PinnedHost& PinnedHost::operator=(PinnedHost&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(device_data_, other.device_data_);
  return *this;
}

void PinnedHost::release() noexcept {
  if (data_ == nullptr) return;
  free_in(context_, [this](const Driver& driver) { driver.mem_free_host(data_); });
  data_ = nullptr;
}

}  // namespace rdmabench::gpu

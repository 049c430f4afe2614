#include "gpu/pinned_host.h"

#include <fmt/format.h>

#include "context_access.h"
#include "gpu/cuda_error.h"

namespace rdmabench::inline v1::gpu {

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
  check(driver, driver.mem_host_alloc(&pages, bytes, cuda::kHostAllocPortable),
        fmt::format("cuMemHostAlloc({} bytes)", bytes),
        "Page-locked memory cannot be swapped: use less, and check free -m and ulimit -l");
  data_ = static_cast<std::byte*>(pages);
}

PinnedHost::~PinnedHost() {
  free_in(context_, [this](const Driver& driver) { driver.mem_free_host(data_); });
}

}  // namespace rdmabench::inline v1::gpu

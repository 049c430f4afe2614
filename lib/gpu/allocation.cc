#include "gpu/allocation.h"

#include <fmt/format.h>

#include <utility>

#include "context_access.h"
#include "gpu/cuda_error.h"
#include "vmm.h"

namespace rdmabench::gpu {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::string_view name(Mode mode) noexcept {
  return mode == Mode::plain ? "plain" : mode == Mode::vmm ? "vmm" : "the caller's";
}

Allocation::Allocation(const Context& context, std::uint64_t bytes, Mode mode)
    : context_(context), size_(bytes), mode_(mode) {
  if (bytes == 0 || bytes > kMostBytes) {
    throw Error(Fault::usage, fmt::format("invalid size of GPU memory: {} bytes", bytes),
                fmt::format("It may be 1 to {}", kMostBytes));
  }
  const CurrentContext current(context_);
  if (mode == Mode::plain) {
    allocate_plain();
  } else {
    allocate_vmm();
  }
  set_sync_memops();
  read_gpudirect();
}

Allocation::Allocation(const Context& context, DevicePointer existing, std::uint64_t bytes)
    : context_(context),
      size_(bytes),
      mode_(Mode::existing),
      data_(existing),
      mapped_(bytes),
      granularity_(kGpuPageBytes) {
  const CurrentContext current(context_);
  set_sync_memops();
  read_gpudirect();
}

Allocation::~Allocation() {
  if (base_ == 0) return;
  free_in(context_, [this](const Driver& driver) {
    if (mode_ == Mode::plain) {
      driver.mem_free(base_);
    } else {
      unmap_vmm(driver, base_, mapped_);
    }
  });
}

void Allocation::allocate_plain() {
  const Driver& driver = context_.driver();
  granularity_ = kGpuPageBytes;
  mapped_ = round_up(size_, granularity_);
  const std::string call =
      fmt::format("cuMemAlloc({} bytes on cuda:{})", mapped_, context_.device().ordinal);
  check(driver, driver.mem_alloc(&base_, mapped_), call);
  if (base_ % granularity_ != 0) {
    // The driver aligns only to 256 bytes; one more page leaves room to begin at a page.
    driver.mem_free(std::exchange(base_, 0));
    check(driver, driver.mem_alloc(&base_, mapped_ + granularity_), call);
  }
  data_ = round_up(base_, granularity_);
}

void Allocation::allocate_vmm() {
  granularity_ = vmm_granularity(context_);
  mapped_ = round_up(size_, granularity_);
  base_ = map_vmm(context_, mapped_, granularity_);
  data_ = base_;
}

void Allocation::set_sync_memops() {
  const Driver& driver = context_.driver();
  if (mode_ != Mode::vmm) {
    const unsigned yes = 1;
    const cuda::Result result = driver.pointer_set_attribute(&yes, cuda::kPointerSyncMemops, data_);
    sync_memops_ = result == cuda::kSuccess;
    sync_memops_text_ = sync_memops_
                            ? "set on the pointer"
                            : fmt::format("not set: cuPointerSetAttribute(SYNC_MEMOPS): {}",
                                          result_text(driver, result));
    return;
  }
  // The pointer attribute cannot be set on mapped memory.
  if (driver.ctx_get_flags == nullptr || driver.ctx_set_flags == nullptr) {
    sync_memops_text_ =
        fmt::format("not set: driver {} supports it only for plain memory, 12.1 also for a context",
                    version_text(driver.version));
    return;
  }
  unsigned flags = 0;
  cuda::Result result = driver.ctx_get_flags(&flags);
  if (result == cuda::kSuccess) result = driver.ctx_set_flags(flags | cuda::kContextSyncMemops);
  sync_memops_ = result == cuda::kSuccess;
  sync_memops_text_ = sync_memops_ ? "set on the context"
                                   : fmt::format("not set: cuCtxSetFlags(SYNC_MEMOPS): {}",
                                                 result_text(driver, result));
}

void Allocation::read_gpudirect() {
  const Driver& driver = context_.driver();
  // The driver writes one or four bytes; both can be read as a number.
  unsigned capable = 0;
  if (driver.pointer_get_attribute(&capable, cuda::kPointerGpuDirectRdmaCapable, data_) ==
      cuda::kSuccess) {
    gpudirect_ = capable != 0;
  }
}

}  // namespace rdmabench::gpu

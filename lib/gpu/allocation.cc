#include "gpu/allocation.h"

#include <fmt/format.h>

#include <utility>

#include "context_access.h"
#include "gpu/cuda_error.h"

namespace rdmabench::inline v1::gpu {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

cuda::Location location_of(const Context& context) {
  return {cuda::kLocationDevice, context.device().ordinal};
}

cuda::AllocationProperties properties_of(const Context& context) {
  cuda::AllocationProperties properties{};
  properties.type = cuda::kAllocationPinned;
  properties.location = location_of(context);
  properties.flags.gpu_direct_rdma_capable = context.device().vmm_rdma ? 1 : 0;
  return properties;
}

/// Reserved addresses; released by the destructor unless kept.
class Reservation {
 public:
  Reservation(const Driver& driver, std::uint64_t bytes, std::uint64_t alignment)
      : driver_(driver), bytes_(bytes) {
    check(driver_, driver_.mem_address_reserve(&data_, bytes, alignment, 0, 0),
          fmt::format("cuMemAddressReserve({} bytes)", bytes));
  }
  ~Reservation() {
    if (mapped_) driver_.mem_unmap(data_, bytes_);
    if (data_ != 0) driver_.mem_address_free(data_, bytes_);
  }
  Reservation& operator=(Reservation&&) = delete;

  void map(const cuda::AllocationProperties& properties) {
    cuda::MemoryHandle memory = 0;
    check(driver_, driver_.mem_create(&memory, bytes_, &properties, 0),
          fmt::format("cuMemCreate({} bytes on cuda:{})", bytes_, properties.location.id));
    const cuda::Result result = driver_.mem_map(data_, bytes_, 0, memory, 0);
    driver_.mem_release(memory);  // the mapping keeps it
    check(driver_, result, fmt::format("cuMemMap({} bytes)", bytes_));
    mapped_ = true;
  }

  void allow(const cuda::Location& location) {
    const cuda::AccessDescription access{location, cuda::kAccessReadWrite};
    check(driver_, driver_.mem_set_access(data_, bytes_, &access, 1),
          fmt::format("cuMemSetAccess({} bytes)", bytes_));
  }

  DevicePointer keep() {
    mapped_ = false;
    return std::exchange(data_, 0);
  }

 private:
  const Driver& driver_;
  std::uint64_t bytes_;
  DevicePointer data_ = 0;
  bool mapped_ = false;
};

bool has_vmm(const Driver& driver) {
  return driver.mem_get_allocation_granularity != nullptr && driver.mem_create != nullptr &&
         driver.mem_release != nullptr && driver.mem_address_reserve != nullptr &&
         driver.mem_address_free != nullptr && driver.mem_map != nullptr &&
         driver.mem_unmap != nullptr && driver.mem_set_access != nullptr;
}

/// In bytes. The context must be current. Throws Error(unavailable) if the device or its driver
/// does not support it, Error(failed).
std::uint64_t vmm_granularity(const Context& context) {
  const Driver& driver = context.driver();
  if (!context.device().vmm || !has_vmm(driver)) {
    throw Error(Fault::unavailable,
                fmt::format("cuda:{} with driver {} does not support virtual memory management",
                            context.device().ordinal, version_text(driver.version)),
                "Use plain memory");
  }
  const cuda::AllocationProperties properties = properties_of(context);
  std::size_t bytes = 0;
  check(driver,
        driver.mem_get_allocation_granularity(&bytes, &properties, cuda::kGranularityMinimum),
        "cuMemGetAllocationGranularity()");
  // At least whole GPU pages, because a NIC pins whole pages.
  return bytes < kGpuPageBytes ? kGpuPageBytes : bytes;
}

/// Memory that its device can read and write, and a NIC too if the device supports it. The context
/// must be current. Throws Error(failed). Source: CUDA Driver API, cuMemCreate,
/// cuMemAddressReserve, cuMemMap, cuMemSetAccess.
DevicePointer map_vmm(const Context& context, std::uint64_t bytes, std::uint64_t granularity) {
  Reservation reservation(context.driver(), bytes, granularity);
  reservation.map(properties_of(context));
  reservation.allow(location_of(context));
  return reservation.keep();
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
    : context_(context), size_(bytes), mode_(Mode::existing), data_(existing) {
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
      driver.mem_unmap(base_, mapped_);
      driver.mem_address_free(base_, mapped_);
    }
  });
}

void Allocation::allocate_plain() {
  const Driver& driver = context_.driver();
  mapped_ = round_up(size_, kGpuPageBytes);
  const std::string call =
      fmt::format("cuMemAlloc({} bytes on cuda:{})", mapped_, context_.device().ordinal);
  check(driver, driver.mem_alloc(&base_, mapped_), call);
  if (base_ % kGpuPageBytes != 0) {
    // The driver aligns only to 256 bytes; one more page leaves room to begin at a page.
    driver.mem_free(std::exchange(base_, 0));
    check(driver, driver.mem_alloc(&base_, mapped_ + kGpuPageBytes), call);
  }
  data_ = round_up(base_, kGpuPageBytes);
}

void Allocation::allocate_vmm() {
  const std::uint64_t granularity = vmm_granularity(context_);
  mapped_ = round_up(size_, granularity);
  base_ = map_vmm(context_, mapped_, granularity);
  data_ = base_;
}

void Allocation::set_sync_memops() {
  const Driver& driver = context_.driver();
  if (mode_ != Mode::vmm) {
    const unsigned yes = 1;
    const cuda::Result result = driver.pointer_set_attribute(&yes, cuda::kPointerSyncMemops, data_);
    sync_memops_text_ = result == cuda::kSuccess
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
  sync_memops_text_ =
      result == cuda::kSuccess
          ? "set on the context"
          : fmt::format("not set: cuCtxSetFlags(SYNC_MEMOPS): {}", result_text(driver, result));
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

}  // namespace rdmabench::inline v1::gpu

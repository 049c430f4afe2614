#include "vmm.h"

#include <fmt/format.h>

#include <utility>

#include "gpu/allocation.h"
#include "gpu/cuda_error.h"

namespace rdmabench::gpu {
namespace {

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
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

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

}  // namespace

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

DevicePointer map_vmm(const Context& context, std::uint64_t bytes, std::uint64_t granularity) {
  Reservation reservation(context.driver(), bytes, granularity);
  reservation.map(properties_of(context));
  reservation.allow(location_of(context));
  return reservation.keep();
}

void unmap_vmm(const Driver& driver, DevicePointer data, std::uint64_t bytes) noexcept {
  driver.mem_unmap(data, bytes);
  driver.mem_address_free(data, bytes);
}

}  // namespace rdmabench::gpu

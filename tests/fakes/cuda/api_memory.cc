// Memory and copies of the fake driver.
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "fake_cuda.h"
#include "memory.h"
#include "stream.h"

using namespace fake_cuda;

namespace {

constexpr std::size_t kVmmGranularity = 2U << 20;

/// A copy whose addresses are resolved when it runs, as on a GPU.
Work copy_work(DevicePointer to, DevicePointer from, std::size_t bytes) {
  return [=]() -> Result {
    std::byte* target = Memory::get().host(to, bytes);
    const std::byte* source = Memory::get().host(from, bytes);
    if (target == nullptr || source == nullptr) return abi::kIllegalAddress;
    std::memcpy(target, source, bytes);
    return abi::kSuccess;
  };
}

DevicePointer address(const void* host) {
  return reinterpret_cast<DevicePointer>(host);
}

}  // namespace

extern "C" {

Result cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  FAKE_CUDA_ENTER_CONTEXT(cuMemAlloc_v2);
  return Memory::get().allocate(bytes, current_device(), *pointer);
}

Result cuMemFree_v2(DevicePointer pointer) {
  FAKE_CUDA_ENTER_CONTEXT(cuMemFree_v2);
  Streams::get().wait_all();
  return Memory::get().free(pointer);
}

Result cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  FAKE_CUDA_ENTER_CONTEXT(cuMemHostAlloc);
  return Memory::get().allocate_host(bytes, *pointer);
}

Result cuMemFreeHost(void* pointer) {
  FAKE_CUDA_ENTER_CONTEXT(cuMemFreeHost);
  Streams::get().wait_all();
  return Memory::get().free_host(pointer);
}

Result cuPointerSetAttribute(const void* value, int attribute, DevicePointer pointer) {
  FAKE_CUDA_ENTER_CONTEXT(cuPointerSetAttribute);
  if (value == nullptr || attribute != abi::kPointerSyncMemops) return abi::kInvalidValue;
  return Memory::get().set_sync_memops(pointer);
}

Result cuPointerGetAttribute(void* value, int attribute, DevicePointer pointer) {
  FAKE_CUDA_ENTER_CONTEXT(cuPointerGetAttribute);
  const Memory::Facts facts = Memory::get().facts(pointer);
  if (!facts.known || attribute != abi::kPointerGpuDirectRdmaCapable) return abi::kInvalidValue;
  *static_cast<unsigned*>(value) = facts.rdma ? 1 : 0;
  return abi::kSuccess;
}

Result cuMemGetAllocationGranularity(std::size_t* bytes, const abi::AllocationProperties*, int) {
  FAKE_CUDA_ENTER(cuMemGetAllocationGranularity);
  if (!World::get().controls().vmm) return abi::kNotSupported;
  *bytes = kVmmGranularity;
  return abi::kSuccess;
}

Result cuMemCreate(abi::MemoryHandle* handle, std::size_t bytes,
                   const abi::AllocationProperties* properties, unsigned long long flags) {
  FAKE_CUDA_ENTER(cuMemCreate);
  const Controls controls = World::get().controls();
  if (!controls.vmm) return abi::kNotSupported;
  if (flags != 0 || bytes == 0 || bytes % kVmmGranularity != 0 ||
      properties->type != abi::kAllocationPinned ||
      properties->location.type != abi::kLocationDevice ||
      properties->location.id >= controls.devices) {
    return abi::kInvalidValue;
  }
  const bool rdma = properties->flags.gpu_direct_rdma_capable != 0;
  if (rdma && !controls.vmm_rdma) return abi::kNotSupported;
  return Memory::get().create(bytes, properties->location.id, rdma, *handle);
}

Result cuMemRelease(abi::MemoryHandle handle) {
  FAKE_CUDA_ENTER(cuMemRelease);
  return Memory::get().release(handle);
}

Result cuMemAddressReserve(DevicePointer* pointer, std::size_t bytes, std::size_t alignment,
                           DevicePointer, unsigned long long) {
  FAKE_CUDA_ENTER(cuMemAddressReserve);
  return Memory::get().reserve(bytes, alignment, *pointer);
}

Result cuMemAddressFree(DevicePointer pointer, std::size_t bytes) {
  FAKE_CUDA_ENTER(cuMemAddressFree);
  return Memory::get().unreserve(pointer, bytes);
}

Result cuMemMap(DevicePointer pointer, std::size_t bytes, std::size_t offset,
                abi::MemoryHandle handle, unsigned long long) {
  FAKE_CUDA_ENTER(cuMemMap);
  if (offset != 0) return abi::kInvalidValue;
  return Memory::get().map(pointer, bytes, handle);
}

Result cuMemUnmap(DevicePointer pointer, std::size_t bytes) {
  FAKE_CUDA_ENTER(cuMemUnmap);
  Streams::get().wait_all();
  return Memory::get().unmap(pointer, bytes);
}

Result cuMemSetAccess(DevicePointer pointer, std::size_t bytes,
                      const abi::AccessDescription* access, std::size_t count) {
  FAKE_CUDA_ENTER(cuMemSetAccess);
  if (count != 1 || access->flags != abi::kAccessReadWrite) return abi::kInvalidValue;
  return Memory::get().allow(pointer, bytes);
}

Result cuMemGetHandleForAddressRange(void* handle, DevicePointer pointer, std::size_t bytes,
                                     int type, unsigned long long flags) {
  FAKE_CUDA_ENTER_CONTEXT(cuMemGetHandleForAddressRange);
  const Controls controls = World::get().controls();
  if (type != abi::kRangeHandleDmaBuf) return abi::kInvalidValue;
  if (!controls.dma_buf || controls.driver < 11070) return abi::kNotSupported;
  if (flags != 0 && flags != abi::kRangeFlagPcie) return abi::kInvalidValue;
  if (flags == abi::kRangeFlagPcie && controls.driver < 12080) return abi::kInvalidValue;
  if (flags == abi::kRangeFlagPcie && !controls.pcie) return abi::kNotSupported;
  int& descriptor = *static_cast<int*>(handle);
  const Result result = Memory::get().export_range(pointer, bytes, descriptor);
  if (result == abi::kSuccess) {
    World::get().remember_mapping(descriptor, flags == abi::kRangeFlagPcie);
  }
  return result;
}

Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes,
                            CUstream_st* stream) {
  FAKE_CUDA_ENTER_CONTEXT(cuMemcpyHtoDAsync_v2);
  const auto queue = Streams::get().find(stream);
  if (queue == nullptr) return abi::kInvalidHandle;
  if (Memory::get().host(to, bytes) == nullptr) return abi::kInvalidValue;
  World::get().copied(bytes);
  if (Memory::get().is_pinned(from, bytes)) return queue->push(copy_work(to, address(from), bytes));
  // The driver copies pageable memory at once.
  const auto* first = static_cast<const std::byte*>(from);
  const auto staged = std::make_shared<std::vector<std::byte>>(first, first + bytes);
  return queue->push([=]() -> Result {
    std::byte* target = Memory::get().host(to, bytes);
    if (target == nullptr) return abi::kIllegalAddress;
    std::memcpy(target, staged->data(), bytes);
    return abi::kSuccess;
  });
}

Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, CUstream_st* stream) {
  FAKE_CUDA_ENTER_CONTEXT(cuMemcpyDtoHAsync_v2);
  const auto queue = Streams::get().find(stream);
  if (queue == nullptr) return abi::kInvalidHandle;
  if (Memory::get().host(from, bytes) == nullptr) return abi::kInvalidValue;
  World::get().copied(bytes);
  if (Memory::get().is_pinned(to, bytes)) return queue->push(copy_work(address(to), from, bytes));
  // A copy into pageable memory is synchronous.
  const Result result = queue->push([=]() -> Result {
    const std::byte* source = Memory::get().host(from, bytes);
    if (source == nullptr) return abi::kIllegalAddress;
    std::memcpy(to, source, bytes);
    return abi::kSuccess;
  });
  return result == abi::kSuccess ? queue->wait() : result;
}

Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes,
                            CUstream_st* stream) {
  FAKE_CUDA_ENTER_CONTEXT(cuMemcpyDtoDAsync_v2);
  const auto queue = Streams::get().find(stream);
  if (queue == nullptr) return abi::kInvalidHandle;
  if (Memory::get().host(to, bytes) == nullptr || Memory::get().host(from, bytes) == nullptr) {
    return abi::kInvalidValue;
  }
  return queue->push(copy_work(to, from, bytes));
}

Result cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t bytes,
                       CUstream_st* stream) {
  FAKE_CUDA_ENTER_CONTEXT(cuMemsetD8Async);
  const auto queue = Streams::get().find(stream);
  if (queue == nullptr) return abi::kInvalidHandle;
  if (Memory::get().host(to, bytes) == nullptr) return abi::kInvalidValue;
  return queue->push([=]() -> Result {
    std::byte* target = Memory::get().host(to, bytes);
    if (target == nullptr) return abi::kIllegalAddress;
    std::memset(target, value, bytes);
    return abi::kSuccess;
  });
}

void* fake_cuda_host_pointer(unsigned long long device_address) {
  return Memory::get().host(device_address, 1);
}

void* fake_cuda_dma_buf_host_pointer(int descriptor, unsigned long long* bytes) {
  unsigned long long found = 0;
  void* host = Memory::get().host_of_dma_buf(descriptor, found);
  if (bytes != nullptr) *bytes = found;
  return host;
}

int fake_cuda_dma_buf_is_pcie(int descriptor) {
  return World::get().is_pcie(descriptor) ? 1 : 0;
}
}

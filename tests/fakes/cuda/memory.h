// The fake GPUs' memory: memfds that host code can access only at another address than the device
// pointer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "world.h"

namespace fake_cuda {

/// A memfd with the bytes of an allocation.
struct Physical {
  Physical(std::uint64_t bytes, int device, bool rdma);
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  int file;
  std::uint64_t bytes;
  int device;
  bool rdma;
};

class Memory {
 public:
  static Memory& get();

  Result allocate(std::uint64_t bytes, int device, DevicePointer& at);
  Result free(DevicePointer at);

  Result create(std::uint64_t bytes, int device, bool rdma, abi::MemoryHandle& handle);
  Result release(abi::MemoryHandle handle);
  Result reserve(std::uint64_t bytes, std::uint64_t alignment, DevicePointer& at);
  Result unreserve(DevicePointer at, std::uint64_t bytes);
  Result map(DevicePointer at, std::uint64_t bytes, abi::MemoryHandle handle);
  Result unmap(DevicePointer at, std::uint64_t bytes);
  Result allow(DevicePointer at, std::uint64_t bytes);

  Result allocate_host(std::uint64_t bytes, void*& at);
  Result free_host(void* at);
  bool is_pinned(const void* at, std::uint64_t bytes);

  /// Null unless the whole range is accessible.
  std::byte* host(DevicePointer at, std::uint64_t bytes);
  Result export_range(DevicePointer at, std::uint64_t bytes, int& descriptor);
  void* host_of_dma_buf(int descriptor, unsigned long long& bytes);

  /// Facts about a device pointer.
  struct Facts {
    bool known = false;
    bool vmm = false;
    bool rdma = false;
  };
  Facts facts(DevicePointer at);
  Result set_sync_memops(DevicePointer at);

  int alive(const std::string& kind);
  void reset();

 private:
  struct Piece {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::shared_ptr<Physical> physical;
    bool allowed;
  };
  struct Region {
    std::uint64_t bytes;
    std::byte* host;  ///< between two inaccessible guard pages
    bool vmm;
    std::vector<Piece> pieces;
  };
  using Regions = std::map<DevicePointer, Region>;

  Regions::iterator find(DevicePointer at, std::uint64_t bytes);
  Result add_region(std::uint64_t bytes, std::uint64_t alignment, bool vmm, DevicePointer& at);
  void put(DevicePointer base, Region& region, Piece piece);
  void take(DevicePointer base, Region& region, const Piece& piece);
  void drop(Regions::iterator region);
  std::uint64_t used(int device) const;

  std::mutex mutex_;
  Regions regions_;
  std::map<abi::MemoryHandle, std::shared_ptr<Physical>> handles_;
  std::map<std::byte*, std::uint64_t> pinned_;
  abi::MemoryHandle next_handle_ = 1;
};

}  // namespace fake_cuda

// Allocates GPU memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/context.h"

namespace rdmabench::inline v1::gpu {

enum class Mode : std::uint8_t {
  plain,     ///< cuMemAlloc
  vmm,       ///< cuMemCreate and cuMemMap, as NCCL and PyTorch do
  existing,  ///< the caller's
};

/// "plain", "vmm", "the caller's".
std::string_view name(Mode mode) noexcept;

/// The page size in which a NIC pins GPU memory, for every route of registration. Source:
/// the GPUDirect RDMA design guide, "Pinning GPU memory".
inline constexpr std::uint64_t kGpuPageBytes = 65536;

/// Owns GPU memory for use by a NIC: it begins at a GPU page and shares its last page with no other
/// allocation. The content is undefined. Thread rule: one thread at a time.
class Allocation {
 public:
  /// Throws Error(usage) for 0 bytes, Error(unavailable) if the device or its driver does not
  /// support the mode, Error(failed) if the allocation fails.
  Allocation(const Context& context, std::uint64_t bytes, Mode mode = Mode::plain);
  /// Memory that the caller allocated and keeps until this is gone: it is described, not owned.
  Allocation(const Context& context, DevicePointer existing, std::uint64_t bytes);
  ~Allocation();
  Allocation& operator=(Allocation&&) = delete;

  DevicePointer data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  Mode mode() const noexcept { return mode_; }
  const Context& context() const noexcept { return context_; }

  /// Whether the driver reports the memory as capable of GPUDirect RDMA; nothing if unknown.
  std::optional<bool> gpudirect() const noexcept { return gpudirect_; }

  /// How it was set that synchronous copies and sets of this memory are complete when they return,
  /// or why not. The driver does not guarantee it by default, so that a NIC could read old bytes.
  /// Source: CUDA Driver API, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, CU_CTX_SYNC_MEMOPS.
  const std::string& sync_memops_text() const noexcept { return sync_memops_text_; }

 private:
  void allocate_plain();
  void allocate_vmm();
  void set_sync_memops();
  void read_gpudirect();

  Context context_;
  std::uint64_t size_ = 0;
  Mode mode_ = Mode::plain;
  DevicePointer base_ = 0;  ///< as returned by the driver; 0 for memory of the caller
  DevicePointer data_ = 0;
  std::uint64_t mapped_ = 0;  ///< bytes that were asked for, size_ rounded up
  std::optional<bool> gpudirect_;
  std::string sync_memops_text_;
};

}  // namespace rdmabench::inline v1::gpu

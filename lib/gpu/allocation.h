// Memory of a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/context.h"

namespace rdmabench::gpu {

enum class Mode : std::uint8_t {
  plain,  ///< cuMemAlloc
  vmm,    ///< cuMemCreate and cuMemMap, as NCCL and PyTorch allocate
};

/// "plain", "vmm".
std::string_view name(Mode mode) noexcept;

/// Memory pinned by a NIC is pinned in pages of this size, whichever way it is registered. Source:
/// the GPUDirect RDMA design guide, "Pinning GPU memory".
inline constexpr std::uint64_t kGpuPageBytes = 65536;

/// Owns GPU memory that a NIC can be given: it begins at a GPU page and no other allocation shares
/// its last one. What is in it is not set. Thread rule: a value with no locks; one owner.
class Allocation {
 public:
  /// Throws Error(usage) for 0 bytes, Error(unavailable) where the device or its driver has no such
  /// mode, Error(failed) where the memory cannot be had.
  Allocation(const Context& context, std::uint64_t bytes, Mode mode = Mode::plain);
  ~Allocation();
  Allocation(Allocation&& other) noexcept;
  Allocation& operator=(Allocation&& other) noexcept;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  DevicePointer data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  Mode mode() const noexcept { return mode_; }
  const Context& context() const noexcept { return context_; }

  /// From data() on, this allocation's own: size() in whole units of granularity().
  std::uint64_t mapped_bytes() const noexcept { return mapped_; }
  std::uint64_t granularity() const noexcept { return granularity_; }

  /// Whether the driver says that GPUDirect RDMA can reach it; nothing where it does not tell.
  std::optional<bool> gpudirect() const noexcept { return gpudirect_; }

  /// Whether synchronous copies and sets of this memory are done when they return, which the driver
  /// does not promise of itself: without it a NIC may read what was there before. How it was asked
  /// for, or why it was not. Source: CUDA Driver API, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
  /// CU_CTX_SYNC_MEMOPS.
  bool sync_memops() const noexcept { return sync_memops_; }
  const std::string& sync_memops_text() const noexcept { return sync_memops_text_; }

 private:
  void allocate_plain();
  void allocate_vmm();
  void set_sync_memops();
  void read_gpudirect();
  void release() noexcept;

  Context context_;
  std::uint64_t size_ = 0;
  Mode mode_ = Mode::plain;
  DevicePointer base_ = 0;  ///< what the driver gave
  DevicePointer data_ = 0;
  std::uint64_t mapped_ = 0;
  std::uint64_t granularity_ = 0;
  std::optional<bool> gpudirect_;
  bool sync_memops_ = false;
  std::string sync_memops_text_;
};

}  // namespace rdmabench::gpu

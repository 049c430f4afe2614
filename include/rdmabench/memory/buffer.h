// memory: allocates the memory of messages, and writes and checks its content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rdmabench/memory/request.h"

namespace rdmabench::inline v1::memory {

class GpuMemory;  // lib/memory/gpu_memory.h
class Mapping;    // lib/memory/mapping.h

/// How many of a buffer's pages are on a NUMA node.
struct NodePages {
  int node;             ///< -1: unknown, for example for memory of a device
  std::uint64_t pages;  ///< of Buffer::page_bytes()

  bool operator==(const NodePages&) const = default;
};

/// "node 0: 16 pages, node 1: 3 pages"; "unknown" for none.
std::string to_text(const std::vector<NodePages>& pages);

/// Memory of the requested kind, which it owns unless it is Request::existing. All pages are
/// touched, so that a run has no page faults. New pages are zero; a file keeps its content. If
/// gpu() is not null, the bytes are GPU memory, which host code must not access. Thread rule: a
/// value without locks; one owner.
class Buffer {
 public:
  Buffer() noexcept;
  /// Page-aligned host memory on any NUMA node. Throws as the other constructor.
  explicit Buffer(std::uint64_t bytes);
  /// Throws Error(usage) if `bytes` is 0 or the request is invalid, Error(unavailable) if this
  /// machine has no such memory, Error(failed) if it cannot be allocated now or if pages are not on
  /// the node of Place::node.
  Buffer(const Request& request, std::uint64_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Page size: 4096, or that of huge pages or of the GPU.
  std::uint64_t page_bytes() const noexcept;
  /// The descriptor of the dma-buf that contains the bytes, -1 for none. Owned by the buffer.
  int dma_buf() const noexcept;
  /// Offset of data() in the dma-buf.
  std::uint64_t dma_buf_offset() const noexcept;

  /// Null for host memory.
  GpuMemory* gpu() const noexcept { return gpu_.get(); }
  /// For GPU memory: data() becomes pinned host memory. See GpuMemory::stage_through_host().
  void stage_through_host();

  /// The choice of the NUMA node: "requested: node 0, near mlx5_0", "any node: ..."
  const std::string& placement() const noexcept { return placement_; }
  /// The NUMA nodes of the pages now; empty for GPU memory.
  std::vector<NodePages> nodes() const;

 private:
  std::unique_ptr<Mapping> mapping_;  ///< null for a GPU's memory
  std::unique_ptr<GpuMemory> gpu_;
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  std::string placement_;
};

/// Bytes from one message slot to the next: `size` rounded up to whole cache lines of 64 bytes.
constexpr std::uint64_t slot_stride(std::uint64_t size) {
  return (size + 63) / 64 * 64;
}

}  // namespace rdmabench::inline v1::memory

// memory: the bytes that messages are made of, and what is written into them.
//
// It may know verbs (to register), and never a transport or a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rdmabench/memory/request.h"

namespace rdmabench::memory {

class GpuMemory;  // lib/memory/gpu_memory.h
class Mapping;    // lib/memory/mapping.h

/// How many of a buffer's pages are on a NUMA node.
struct NodePages {
  int node;             ///< -1: the kernel does not tell, as for the memory of a device
  std::uint64_t pages;  ///< of Buffer::page_bytes()

  bool operator==(const NodePages&) const = default;
};

/// "node 0: 16 pages, node 1: 3 pages"; "not told" for none.
std::string to_text(const std::vector<NodePages>& pages);

/// Memory of the kind that was asked for, touched, so that no page fault falls into a run. New
/// pages are zero; a file keeps its bytes. Owns its pages. Where gpu() is not null the bytes are a
/// GPU's, and only that may touch them. Thread rule: a value with no locks; one owner.
class Buffer {
 public:
  Buffer() noexcept;
  /// Host memory, page-aligned, wherever the kernel puts it. Throws as the other one.
  explicit Buffer(std::uint64_t bytes);
  /// Throws Error(usage) when `bytes` is 0 or the request makes no sense, Error(unavailable) when
  /// this machine has no such memory, Error(failed) when it cannot be had now; the text says what
  /// to do. A node of Place::node is kept to: pages that are elsewhere are Error(failed).
  Buffer(const Request& request, std::uint64_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Of the memory's pages: 4096, a huge page's or a GPU's.
  std::uint64_t page_bytes() const noexcept;
  /// The descriptor of the dma-buf that holds the bytes, -1 for none; the buffer's own.
  int dma_buf() const noexcept;
  /// Where in the dma-buf data() is.
  std::uint64_t dma_buf_offset() const noexcept;

  /// Null where the bytes are the host's.
  GpuMemory* gpu() const noexcept { return gpu_.get(); }
  /// GPU memory: from here on data() is pinned host memory, see GpuMemory.
  void stage_through_host();

  /// How the choice of a NUMA node went: "asked for node 0, near mlx5_0" or "anywhere: ..."
  const std::string& placement() const noexcept { return placement_; }
  /// Where the pages are now; nothing for a GPU's.
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

}  // namespace rdmabench::memory

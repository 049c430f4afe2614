// Maps pages into this process, for each kind of host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.h"

namespace rdmabench::inline v1::memory {

/// Owns readable and writable pages, and the descriptors that they need.
class Mapping {
 public:
  Mapping() = default;
  /// Calls mmap(2) for `bytes`, rounded up to whole pages, with `flags` at `offset` of `file`.
  /// Check the result by operator bool. `bytes` is at most 2^63.
  Mapping(std::uint64_t bytes, std::uint64_t page_bytes, int flags, int file = -1,
          std::uint64_t offset = 0) noexcept;
  ~Mapping();
  Mapping(Mapping&& other) noexcept;

  /// Whether mmap(2) succeeded; if not, errno is set.
  explicit operator bool() const noexcept { return base_ != nullptr; }

  std::span<std::byte> bytes() const noexcept { return {base_, length_}; }
  std::uint64_t page_bytes() const noexcept { return page_bytes_; }

  Descriptor memory_file;  ///< of `dmabuf`: the memfd of the pages
  Descriptor dma_buf;      ///< of `dmabuf`: the dma-buf of the pages

 private:
  std::byte* base_ = nullptr;
  std::uint64_t length_ = 0;
  std::uint64_t page_bytes_ = 0;
};

// Each maps at least `bytes` and does not touch them. They throw Error(failed) or
// Error(unavailable) with a remedy, Error(usage) for an invalid request.

/// Source: mmap(2), MAP_ANONYMOUS.
Mapping map_host(std::uint64_t bytes);

/// Source: mmap(2), MAP_HUGETLB; the kernel's Documentation/admin-guide/mm/hugetlbpage.rst.
Mapping map_huge(std::uint64_t bytes, std::uint64_t huge_page_bytes);

/// The mapping is shared with other processes that map the file; messages overwrite its content. A
/// file that does not exist is created, unlinked at once and ends with the mapping. An empty file
/// is extended. Both get their blocks allocated. Any other regular file must be large enough. A
/// device must be able to map `bytes` at `offset`. Source: mmap(2), MAP_SHARED, posix_fallocate(3).
Mapping map_file(std::uint64_t bytes, const std::string& path, std::uint64_t offset);

/// Pages of a memfd. Call export_dma_buf() after they are on their NUMA node. Source:
/// memfd_create(2).
Mapping map_dma_buf(std::uint64_t bytes);

/// Creates the dma-buf of a map_dma_buf(), which pins its pages. `device` is the driver's file.
/// Source: the kernel's include/uapi/linux/udmabuf.h.
void export_dma_buf(Mapping& mapping, const char* device = "/dev/udmabuf");

}  // namespace rdmabench::inline v1::memory

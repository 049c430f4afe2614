// Pages mapped into this process, by the kinds of memory there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rdmabench::memory {

/// Owns a file descriptor; -1 for none. Source: close(2).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const noexcept { return number_; }

 private:
  int number_ = -1;
};

/// Owns whole pages that can be read and written, and the descriptors that they need to live.
class Mapping {
 public:
  Mapping() = default;
  /// mmap(2) of `bytes`, rounded up to whole pages, with `flags` at `offset` of `file`. It may
  /// fail. `bytes` is at most 2^63.
  Mapping(std::uint64_t bytes, std::uint64_t page_bytes, int flags, int file = -1,
          std::uint64_t offset = 0) noexcept;
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// Whether mmap(2) gave the pages; if not, errno is its.
  explicit operator bool() const noexcept { return base_ != nullptr; }

  std::span<std::byte> bytes() const noexcept { return {base_, length_}; }
  std::uint64_t page_bytes() const noexcept { return page_bytes_; }

  Descriptor memory_file;  ///< of `dmabuf`: the memfd that the pages belong to
  Descriptor dma_buf;      ///< of `dmabuf`: the pages' dma-buf

 private:
  std::byte* base_ = nullptr;
  std::uint64_t length_ = 0;
  std::uint64_t page_bytes_ = 0;
};

// Each maps at least `bytes`, untouched. They throw Error(failed) or Error(unavailable) that says
// what to do, Error(usage) for a request that can be met nowhere.

/// Source: mmap(2), MAP_ANONYMOUS.
Mapping map_host(std::uint64_t bytes);

/// Source: mmap(2), MAP_HUGETLB; the kernel's Documentation/admin-guide/mm/hugetlbpage.rst.
Mapping map_huge(std::uint64_t bytes, std::uint64_t huge_page_bytes);

/// Shared with every other process that maps the file, whose bytes the messages overwrite. A file
/// that is not there is created, has no name from then on and is gone with the mapping; an empty
/// one is grown; both with their blocks allocated. Any other regular file must be large enough. A
/// device must be able to map `bytes` at `offset`. Source: mmap(2), MAP_SHARED, posix_fallocate(3).
Mapping map_file(std::uint64_t bytes, const std::string& path, std::uint64_t offset);

/// The pages of a memfd; export_dma_buf() gives them their dma-buf once they are where they shall
/// be. Source: memfd_create(2).
Mapping map_dma_buf(std::uint64_t bytes);

/// Makes the dma-buf of a map_dma_buf(), which pins its pages. `device` is the driver's. Source:
/// the kernel's include/uapi/linux/udmabuf.h.
void export_dma_buf(Mapping& mapping, const char* device = "/dev/udmabuf");

}  // namespace rdmabench::memory

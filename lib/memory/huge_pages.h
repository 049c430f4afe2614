// Reads the kernel's pools of huge pages, and maps their memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmabench::inline v1::memory {

/// The pool of one page size, over all NUMA nodes.
struct HugePagePool {
  std::uint64_t page_bytes = 0;
  std::uint64_t total = 0;     ///< pages
  std::uint64_t free = 0;      ///< pages that are not in use
  std::uint64_t reserved = 0;  ///< free pages that are reserved for mappings

  std::uint64_t available() const noexcept { return free > reserved ? free - reserved : 0; }
};

// `root` is the root of /proc and /sys; tests pass another folder. Source: the kernel's
// Documentation/admin-guide/mm/hugetlbpage.rst.

/// The default page size of MAP_HUGETLB, mmap(2); 0 if the kernel has no huge pages.
std::uint64_t default_huge_page_bytes(const std::string& root = "/");

/// All page sizes with a pool, in ascending order.
std::vector<std::uint64_t> huge_page_sizes(const std::string& root = "/");

/// If there is no such pool, all members but the page size are 0.
HugePagePool read_huge_page_pool(std::uint64_t page_bytes, const std::string& root = "/");

/// How to make `pages` available: "2 huge pages of 2M are needed, 0 of 0 are free. Reserve them
/// ...". `is_default`: this is the default page size.
std::string huge_page_remedy(const HugePagePool& pool, std::uint64_t pages, bool is_default);

}  // namespace rdmabench::inline v1::memory

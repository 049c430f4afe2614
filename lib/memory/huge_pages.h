// The kernel's pools of huge pages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmabench::memory {

/// The pool of one page size, all NUMA nodes together.
struct HugePagePool {
  std::uint64_t page_bytes = 0;
  std::uint64_t total = 0;     ///< pages
  std::uint64_t free = 0;      ///< pages that hold nothing yet
  std::uint64_t reserved = 0;  ///< of the free ones, those that a mapping has been promised

  std::uint64_t available() const noexcept { return free > reserved ? free - reserved : 0; }
};

// `root` is where the machine's files are; a test gives a folder of its own. Source: the kernel's
// Documentation/admin-guide/mm/hugetlbpage.rst.

/// The page size of mmap(2)'s MAP_HUGETLB when none is named; 0 where the kernel has no huge pages.
std::uint64_t default_huge_page_bytes(const std::string& root = "/");

/// Every page size this kernel has a pool of, in ascending order.
std::vector<std::uint64_t> huge_page_sizes(const std::string& root = "/");

/// All zero but the page size where there is no such pool.
HugePagePool read_huge_page_pool(std::uint64_t page_bytes, const std::string& root = "/");

/// What a user can do so that `pages` can be had: "2 huge pages of 2M are needed, 0 of 0 are free.
/// Reserve them with ...". `is_default` where MAP_HUGETLB takes this size of itself.
std::string huge_page_remedy(const HugePagePool& pool, std::uint64_t pages, bool is_default);

}  // namespace rdmabench::memory

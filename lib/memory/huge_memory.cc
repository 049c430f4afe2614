#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "memory/huge_pages.h"
#include "memory/mapping.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

namespace rdmabench::memory {
namespace {

/// Throws if the kernel has no pool of this page size.
void check_size(std::uint64_t page) {
  std::vector<std::string> sizes;
  for (const std::uint64_t size : huge_page_sizes()) {
    if (size == page) return;
    sizes.push_back(format_size(size));
  }
  throw Error(Fault::unavailable,
              fmt::format("the kernel has no huge pages{}",
                          page == 0 ? "" : fmt::format(" of {}", format_size(page))),
              sizes.empty() ? "It was built without hugetlbfs: set `memory` to host."
                            : fmt::format("Available: {}. 1G pages may need hugepagesz=1G on the "
                                          "kernel's command line.",
                                          fmt::join(sizes, ", ")));
}

}  // namespace

Mapping map_huge(std::uint64_t bytes, std::uint64_t huge_page_bytes) {
  const std::uint64_t usual = default_huge_page_bytes();
  const std::uint64_t page = huge_page_bytes == 0 ? usual : huge_page_bytes;
  check_size(page);
  const int size_flag = std::countr_zero(page) << MAP_HUGE_SHIFT;
  Mapping mapping(bytes, page, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size_flag);
  if (!mapping) {
    const int code = errno;
    const std::uint64_t pages = bytes / page + (bytes % page != 0 ? 1 : 0);
    throw Error(Fault::unavailable,
                fmt::format("mmap({} bytes in huge pages of {})", bytes, format_size(page)),
                huge_page_remedy(read_huge_page_pool(page), pages, page == usual), code);
  }
  return mapping;
}

}  // namespace rdmabench::memory

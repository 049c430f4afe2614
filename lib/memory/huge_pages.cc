#include "memory/huge_pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "memory/mapping.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

namespace rdmabench::inline v1::memory {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKibi = 1024;
constexpr std::string_view kPools = "sys/kernel/mm/hugepages";
constexpr std::string_view kPoolPrefix = "hugepages-";

std::string pool_name(std::uint64_t page_bytes) {
  return fmt::format("{}{}kB", kPoolPrefix, page_bytes / kKibi);
}

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

std::uint64_t default_huge_page_bytes(const std::string& root) {
  const std::string size =
      value_after(read_file(fs::path(root) / "proc/meminfo").text, "Hugepagesize");
  return to_number(size.substr(0, size.find(' '))).value_or(0) * kKibi;
}

std::vector<std::uint64_t> huge_page_sizes(const std::string& root) {
  std::vector<std::uint64_t> sizes;
  int error = 0;
  for (const std::string& name : list_folder(fs::path(root) / kPools, error)) {
    if (!name.starts_with(kPoolPrefix)) continue;
    const std::string kib = name.substr(kPoolPrefix.size());  // "2048kB"
    if (const auto number = to_number(kib.substr(0, kib.find('k'))); number.value_or(0) != 0) {
      sizes.push_back(*number * kKibi);
    }
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

HugePagePool read_huge_page_pool(std::uint64_t page_bytes, const std::string& root) {
  const fs::path pool = fs::path(root) / kPools / pool_name(page_bytes);
  return {.page_bytes = page_bytes,
          .total = read_number(pool / "nr_hugepages").value_or(0),
          .free = read_number(pool / "free_hugepages").value_or(0),
          .reserved = read_number(pool / "resv_hugepages").value_or(0)};
}

std::string huge_page_remedy(const HugePagePool& pool, std::uint64_t pages, bool is_default) {
  const std::string state = fmt::format("{} huge pages of {} are needed, {} of {} are free", pages,
                                        format_size(pool.page_bytes), pool.available(), pool.total);
  if (pool.available() >= pages) {
    return fmt::format("{}: check the limit of the control group (hugetlb.*.max).", state);
  }
  const std::uint64_t wanted = pool.total - pool.available() + pages;
  const std::string command = is_default ? fmt::format("sysctl -w vm.nr_hugepages={}", wanted)
                                         : fmt::format("echo {} >/{}/{}/nr_hugepages", wanted,
                                                       kPools, pool_name(pool.page_bytes));
  return fmt::format("{}. Reserve them as root with '{}'.", state, command);
}

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

}  // namespace rdmabench::inline v1::memory

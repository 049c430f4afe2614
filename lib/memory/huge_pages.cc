#include "memory/huge_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "rdmabench/base/units.h"

namespace rdmabench::memory {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKibi = 1024;
constexpr std::string_view kPools = "sys/kernel/mm/hugepages";
constexpr std::string_view kPoolPrefix = "hugepages-";

std::string pool_name(std::uint64_t page_bytes) {
  return fmt::format("{}{}kB", kPoolPrefix, page_bytes / kKibi);
}

}  // namespace

std::uint64_t default_huge_page_bytes(const std::string& root) {
  std::ifstream file(fs::path(root) / "proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kKey = "Hugepagesize:";
    if (!line.starts_with(kKey)) continue;
    const std::size_t digits = std::min(line.find_first_not_of(' ', kKey.size()), line.size());
    std::uint64_t kib = 0;
    std::from_chars(line.data() + digits, line.data() + line.size(), kib);
    return kib * kKibi;
  }
  return 0;
}

std::vector<std::uint64_t> huge_page_sizes(const std::string& root) {
  std::vector<std::uint64_t> sizes;
  std::error_code failure;
  fs::directory_iterator at(fs::path(root) / kPools, failure);
  for (const fs::directory_iterator end; !failure && at != end; at.increment(failure)) {
    const std::string name = at->path().filename();
    std::uint64_t kib = 0;
    if (!name.starts_with(kPoolPrefix)) continue;
    std::from_chars(name.data() + kPoolPrefix.size(), name.data() + name.size(), kib);
    if (kib != 0) sizes.push_back(kib * kKibi);
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

}  // namespace rdmabench::memory

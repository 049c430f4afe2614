#include "memory/huge_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "../folder.h"
#include "memory/mapping.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;
constexpr const char* kKnob = "/proc/sys/vm/nr_hugepages";

class Machine : public testing::Test {
 protected:
  void pool(const std::string& kib, int total, int free, int reserved) {
    const std::string folder = "sys/kernel/mm/hugepages/hugepages-" + kib + "kB/";
    root_.write(folder + "nr_hugepages", std::to_string(total));
    root_.write(folder + "free_hugepages", std::to_string(free));
    root_.write(folder + "resv_hugepages", std::to_string(reserved));
  }
  Folder root_;
};

TEST_F(Machine, TellsItsPools) {
  root_.write("proc/meminfo", "MemTotal:  100 kB\nHugepagesize:       2048 kB\n");
  pool("1048576", 0, 0, 0);
  pool("2048", 10, 6, 2);
  EXPECT_EQ(default_huge_page_bytes(root_.path()), 2 * kMebi);
  EXPECT_THAT(huge_page_sizes(root_.path()), ElementsAre(2 * kMebi, 1024 * kMebi));
  const HugePagePool two = read_huge_page_pool(2 * kMebi, root_.path());
  EXPECT_EQ(two.total, 10U);
  EXPECT_EQ(two.available(), 4U);
  EXPECT_EQ(read_huge_page_pool(4 * kMebi, root_.path()).total, 0U);
}

TEST_F(Machine, WithoutHugePagesHasNone) {
  EXPECT_EQ(default_huge_page_bytes(root_.path()), 0U);
  EXPECT_THAT(huge_page_sizes(root_.path()), IsEmpty());
}

TEST(HugePageRemedy, CountsWhatIsInUse) {
  const HugePagePool pool{.page_bytes = 2 * kMebi, .total = 10, .free = 6, .reserved = 2};
  EXPECT_THAT(huge_page_remedy(pool, 5, true),
              has_all("5 huge pages of 2M", "4 of 10", "sysctl -w vm.nr_hugepages=11"));
  EXPECT_THAT(huge_page_remedy(pool, 5, false),
              HasSubstr("echo 11 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"));
  EXPECT_THAT(huge_page_remedy(pool, 4, true), HasSubstr("control group"));
}

TEST(HugePages, ThatAreNotThereAreRefusedWithTheirNumber) {
  if (huge_page_sizes().empty()) {
    EXPECT_THAT(complaint([] { map_huge(4 * kMebi, 0); }).what(),
                HasSubstr("the kernel has no huge pages"));
    return;
  }
  constexpr std::uint64_t kPages = 1000000;  // 2 TB
  const Error error = complaint([] { map_huge(kPages * default_huge_page_bytes(), 0); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(),
              has_all("ENOMEM", "1000000 huge pages of", "sysctl -w vm.nr_hugepages=10"));
}

TEST(HugePages, OfASizeThatTheKernelLacksAreRefusedByName) {
  const Error error = complaint([] { map_huge(4 * kMebi, std::uint64_t{8} << 40); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("no huge pages of 8T"));
}

/// Huge pages for one test, where this user may reserve any.
class Reserved {
 public:
  Reserved() : before_(read()) { write(before_ + 2); }
  ~Reserved() { write(before_); }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

 private:
  static std::uint64_t read() {
    std::uint64_t pages = 0;
    std::ifstream(kKnob) >> pages;
    return pages;
  }
  static void write(std::uint64_t pages) { std::ofstream(kKnob) << pages; }

  std::uint64_t before_;
};

TEST(HugePages, HoldABufferWhereTheMachineLendsThem) {
  const Reserved reserved;
  const std::uint64_t page = default_huge_page_bytes();
  const Request request{.kind = Kind::huge};
  if (page == 0 || read_huge_page_pool(page).available() < 2) {
    EXPECT_EQ(complaint([&] { Buffer(request, 100); }).fault(), Fault::unavailable);
    return;
  }
  const std::uint64_t free = read_huge_page_pool(page).free;
  {
    const Buffer buffer({.kind = Kind::huge, .unaligned = 3}, page);
    EXPECT_EQ(buffer.page_bytes(), page);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % page, 3U);
    EXPECT_EQ(read_huge_page_pool(page).free, free - 2) << "an unaligned one needs a page more";
    buffer.bytes().back() = std::byte{7};
  }
  EXPECT_EQ(read_huge_page_pool(page).free, free);
}

}  // namespace
}  // namespace rdmabench::inline v1::memory

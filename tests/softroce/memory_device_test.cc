// Every kind of memory on a real device: registered, or refused with the reason.
//
// RDMABENCH_DEVICE ("NAME[:PORT]") picks the device, else the first one; without any the tests are
// skipped and say why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "memory/huge_pages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/verbs/device.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::inline v1::verbs {
namespace {

using ::testing::AllOf;
using ::testing::Eq;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint64_t kBytes = 256 * 1024;
constexpr const char* kDmaBufDriver = "/dev/udmabuf";
constexpr const char* kHugePages = "/proc/sys/vm/nr_hugepages";

class MemoryDevice : public testing::Test {
 protected:
  void SetUp() override {
    try {
      context_ = open_device(device_name());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    domain_ = allocate_protection_domain(*context_);
  }

  static std::string device_name() {
    if (const char* named = std::getenv("RDMABENCH_DEVICE"); named != nullptr) {
      const std::string text = named;
      return text.substr(0, text.find(':'));
    }
    const std::vector<DeviceInfo> devices = list_devices();
    return devices.empty() ? "" : devices[0].name;
  }

  Registration made(const memory::Buffer& buffer, const RegistrationRequest& request) {
    return register_memory(*domain_,
                           {.bytes = buffer.bytes(),
                            .dma_buf = buffer.dma_buf(),
                            .dma_buf_offset = buffer.dma_buf_offset()},
                           request);
  }

  Error refused(const memory::Buffer& buffer, const RegistrationRequest& request) {
    try {
      made(buffer, request);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return Error(Fault::failed, "");
  }

  Context context_;
  ProtectionDomain domain_;
};

TEST_F(MemoryDevice, HostPagesArePinnedWhateverTheirStart) {
  for (const std::uint64_t unaligned : {0, 1, 64, 4095}) {
    const memory::Buffer buffer({.unaligned = unaligned}, kBytes);
    for (const Access access : {Access::local, Access::window}) {
      EXPECT_EQ(made(buffer, {.access = access}).route, Route::pinned);
    }
  }
}

TEST_F(MemoryDevice, HugePagesArePinned) {
  std::ofstream(kHugePages) << 2;
  const memory::Request request{.kind = memory::Kind::huge};
  const std::uint64_t page = memory::default_huge_page_bytes();
  if (page == 0 || memory::read_huge_page_pool(page).available() == 0) {
    EXPECT_THROW(memory::Buffer(request, kBytes), Error);
    return;
  }
  const memory::Buffer buffer(request, kBytes);
  EXPECT_EQ(made(buffer, {.access = Access::window}).route, Route::pinned);
}

TEST_F(MemoryDevice, AFileInMemoryIsPinned) {
  const memory::Buffer buffer(
      {.kind = memory::Kind::file, .path = "/dev/shm/rdmabench_memory_device_test"}, kBytes);
  EXPECT_EQ(made(buffer, {.access = Access::window}).route, Route::pinned);
}

/// From Linux 6.5 on, pages of a disk's file cannot be pinned to be written.
TEST_F(MemoryDevice, AFileOnADiskIsPinnedOrExplained) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "rdmabench_memory_device_test").string();
  const memory::Buffer buffer({.kind = memory::Kind::file, .path = path}, kBytes);
  try {
    EXPECT_EQ(made(buffer, {.access = Access::window}).route, Route::pinned);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("EFAULT"), HasSubstr("tmpfs")));
  }
}

TEST_F(MemoryDevice, ADmaBufIsTakenOrTheDevicesRefusalNamed) {
  const memory::Request request{.kind = memory::Kind::dmabuf, .unaligned = 64};
  if (!std::filesystem::exists(kDmaBufDriver)) {
    EXPECT_THROW(memory::Buffer(request, kBytes), Error);
    return;
  }
  const memory::Buffer buffer(request, kBytes);
  const Registration registration = made(buffer, {.access = Access::window});
  std::string reason;
  for (const RegistrationAttempt& attempt : registration.others) {
    if (attempt.route == Route::dma_buf) reason = attempt.reason;
  }
  RecordProperty("dma_buf_refusal", reason);
  if (registration.route == Route::dma_buf) return;
  EXPECT_EQ(registration.route, Route::pinned) << "the memfd's own pages";
  EXPECT_THAT(reason, AllOf(StartsWith("ibv_reg_dmabuf_mr("), HasSubstr(device_name()),
                            HasSubstr("EOPNOTSUPP")));
  const Error error = refused(buffer, {.require_dma_buf = true});
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr(device_name()));
}

TEST_F(MemoryDevice, OnDemandPagingIsTakenOrRefusedByName) {
  const memory::Buffer buffer(kBytes);
  const std::string offered = to_text(query_on_demand(*context_));
  RecordProperty("on_demand", offered);
  if (!offered.empty()) {
    EXPECT_EQ(made(buffer, {.access = Access::window, .on_demand = true}).route, Route::on_demand);
    return;
  }
  const Error error = refused(buffer, {.on_demand = true});
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr(device_name() + " does not support on-demand paging"));
}

TEST_F(MemoryDevice, RelaxedOrderingIsAcceptedAndItsLimitsSaid) {
  const memory::Buffer buffer(kBytes);
  EXPECT_EQ(made(buffer, {.relaxed_ordering = true}).notes.size(), 1U);
}

TEST_F(MemoryDevice, MemoryThatIsNotMappedIsExplained) {
  const memory::Buffer buffer(kBytes);
  const std::span<std::byte> beyond(buffer.data(), std::uint64_t{1} << 40);
  const auto registering = [&] { register_memory(*domain_, beyond, Access::local); };
  try {
    registering();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.code(), testing::AnyOf(Eq(EFAULT), Eq(ENOMEM), Eq(EINVAL))) << error.what();
    EXPECT_FALSE(error.remedy().empty()) << error.what();
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs

#include "gpu/allocation.h"

#include "gpu/pinned_host.h"
#include "gpu_fixture.h"

namespace rdmabench::inline v1::gpu {
namespace {

using testing::HasSubstr;
using AllocationTest = GpuTest;
using AllocationDeathTest = GpuTest;

TEST_F(AllocationTest, PlainMemoryIsWholeGpuPages) {
  const Allocation memory(Context(0), 100);
  EXPECT_EQ(memory.size(), 100U);
  EXPECT_EQ(memory.data() % kGpuPageBytes, 0U);
  EXPECT_EQ(memory.mode(), Mode::plain);
  EXPECT_EQ(memory.gpudirect(), true);
  EXPECT_EQ(memory.sync_memops_text(), "set on the pointer");
  EXPECT_EQ(fake_cuda_calls("cuMemAlloc_v2"), 1);
}

TEST_F(AllocationTest, BeginsAtAGpuPageWhereTheDriversMemoryDoesNot) {
  pretend("FAKE_CUDA_ALIGN", "4096");
  const Context context(0);
  {
    const Allocation memory(context, 3 * kGpuPageBytes);
    EXPECT_EQ(memory.data() % kGpuPageBytes, 0U);
    bytes_at(memory.data(), memory.size()).back() = std::byte{1};
    EXPECT_EQ(fake_cuda_alive("allocation"), 1);
  }
  EXPECT_EQ(fake_cuda_alive("allocation"), 0);
}

TEST_F(AllocationTest, VmmMemoryIsWholeUnitsAndCanBeReached) {
  {
    const Allocation memory(Context(1), 100, Mode::vmm);
    EXPECT_EQ(memory.mode(), Mode::vmm);
    EXPECT_EQ(memory.gpudirect(), true);
    EXPECT_EQ(memory.sync_memops_text(), "set on the context");
    bytes_at(memory.data(), 100)[99] = std::byte{7};
    EXPECT_EQ(fake_cuda_alive("vmm"), 0);  // the mapping alone holds it
    EXPECT_EQ(fake_cuda_alive("reservation"), 1);
  }
  expect_nothing_alive();
}

TEST_F(AllocationTest, VmmMemoryThatNoNicCanReachHasNoGpudirect) {
  pretend("FAKE_CUDA_VMM_RDMA", "0");
  const Allocation memory(Context(0), 100, Mode::vmm);
  EXPECT_EQ(memory.gpudirect(), false);
}

TEST_F(AllocationTest, VmmThatIsNotThereIsUnavailable) {
  const Driver old = driver_without({"cuMemMap"});
  EXPECT_EQ(complaint([&] { Allocation(Context(old, 0), 1, Mode::vmm); }).fault(),
            Fault::unavailable);
  pretend("FAKE_CUDA_VMM", "0");
  const Error error = complaint([] { Allocation(Context(0), 1, Mode::vmm); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("does not support virtual memory management"));
  EXPECT_THAT(error.remedy(), HasSubstr("plain"));
}

TEST_F(AllocationTest, SaysWhySyncMemopsIsNotSet) {
  const Driver old = driver_without({"cuCtxSetFlags"});
  const Allocation mapped(Context(old, 0), 1, Mode::vmm);
  EXPECT_THAT(mapped.sync_memops_text(), HasSubstr("only for plain memory"));

  pretend("FAKE_CUDA_DRIVER", "12000");
  const Allocation refused(Context(0), 1, Mode::vmm);
  EXPECT_THAT(refused.sync_memops_text(), HasSubstr("CUDA_ERROR_NOT_SUPPORTED"));

  pretend("FAKE_CUDA_FAIL", "cuPointerSetAttribute:1:1");
  const Allocation plain(Context(0), 1);
  EXPECT_THAT(plain.sync_memops_text(), HasSubstr("SYNC_MEMOPS"));
}

TEST_F(AllocationTest, WhetherGpudirectReachesItMayNotBeTold) {
  pretend("FAKE_CUDA_FAIL", "cuPointerGetAttribute:1:1");
  EXPECT_EQ(Allocation(Context(0), 1).gpudirect(), std::nullopt);
}

TEST_F(AllocationTest, SizesThatMakeNoSenseAreRefused) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 60}) {
    const Error error = complaint([&] { Allocation(Context(0), bytes); });
    EXPECT_EQ(error.fault(), Fault::usage);
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(bytes)));
  }
}

TEST_F(AllocationTest, MoreThanThereIsFails) {
  for (const Mode mode : {Mode::plain, Mode::vmm}) {
    const Error error = complaint([&] { Allocation(Context(0), 2UL << 30, mode); });
    EXPECT_EQ(error.fault(), Fault::failed);
    EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  }
  expect_nothing_alive();
}

TEST_F(AllocationTest, AFailureAtAnyStepLeavesNothing) {
  struct Case {
    Mode mode;
    const char* failure;
    const char* call;
  };
  for (const Case& c :
       {Case{Mode::plain, "cuMemAlloc_v2:1:2", "cuMemAlloc("},
        Case{Mode::vmm, "cuMemGetAllocationGranularity:1:1", "cuMemGetAllocationGranularity"},
        Case{Mode::vmm, "cuMemAddressReserve:1:2", "cuMemAddressReserve"},
        Case{Mode::vmm, "cuMemCreate:1:2", "cuMemCreate"},
        Case{Mode::vmm, "cuMemMap:1:1", "cuMemMap"},
        Case{Mode::vmm, "cuMemSetAccess:1:1", "cuMemSetAccess"}}) {
    pretend("FAKE_CUDA_FAIL", c.failure);
    EXPECT_THAT(complaint([&] { Allocation(Context(0), 1, c.mode); }).what(), HasSubstr(c.call));
    expect_nothing_alive();
  }
  pretend("FAKE_CUDA_ALIGN", "4096");
  pretend("FAKE_CUDA_FAIL", "cuMemAlloc_v2:2:2");
  EXPECT_THAT(complaint([] { Allocation(Context(0), 1); }).what(), HasSubstr("cuMemAlloc("));
  expect_nothing_alive();
}

TEST_F(AllocationDeathTest, HostCodeThatFollowsTheAddressDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const Mode mode : {Mode::plain, Mode::vmm}) {
    EXPECT_DEATH(
        {
          const Allocation memory(Context(0), 100, mode);
          *reinterpret_cast<volatile char*>(memory.data()) = 1;
        },
        "");
  }
}

TEST_F(AllocationTest, PinnedHostMemoryIsFreed) {
  const Context context(0);
  {
    PinnedHost pages(context, 5000);
    EXPECT_EQ(pages.size(), 5000U);
    pages.bytes().back() = std::byte{1};
    EXPECT_EQ(fake_cuda_alive("host"), 1);
  }
  EXPECT_EQ(fake_cuda_alive("host"), 0);
}

TEST_F(AllocationTest, PinnedHostMemoryRefusesAndFails) {
  EXPECT_EQ(complaint([] { PinnedHost(Context(0), 0); }).fault(), Fault::usage);
  pretend("FAKE_CUDA_FAIL", "cuMemHostAlloc:1:2");
  EXPECT_THAT(complaint([] { PinnedHost(Context(0), 1); }).what(), HasSubstr("cuMemHostAlloc"));
  expect_nothing_alive();
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu

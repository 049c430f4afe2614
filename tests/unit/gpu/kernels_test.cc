// The kernels are compiled from the same source for the CPU and run by the fake driver; what a GPU
// makes of them is not seen here.
#include "gpu/kernels.h"

#include <algorithm>
#include <cstring>

#include "gpu_fixture.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::gpu {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class KernelsTest : public GpuTest {
 protected:
  static constexpr std::uint64_t kBytes = 300000;

  std::span<std::byte> host(std::uint64_t offset, std::uint64_t bytes) const {
    return bytes_at(memory_.data() + offset, kBytes - offset).first(bytes);
  }

  Context context_ = Context(0);
  Allocation memory_ = Allocation(context_, kBytes);
  Stream stream_ = Stream(context_);
  Kernels kernels_ = Kernels(context_);
};

/// Around the 16 bytes that are touched at a time, and more than one pass of the whole grid.
constexpr std::uint64_t kSizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 4096, 4100, 200001};
constexpr std::uint64_t kOffsets[] = {0, 1, 8, 16};

TEST_F(KernelsTest, FillTheVeryPatternOfTheHost) {
  for (const std::uint64_t size : kSizes) {
    for (const std::uint64_t offset : kOffsets) {
      for (const int tag : {0, 1, 255}) {
        std::memset(host(0, kBytes).data(), 0xee, kBytes);
        kernels_.fill_pattern(stream_, memory_.data() + offset, size,
                              static_cast<std::uint8_t>(tag));
        stream_.synchronize(soon());
        std::vector<std::byte> expected(size);
        memory::fill_pattern(expected, static_cast<std::uint8_t>(tag));
        ASSERT_TRUE(std::ranges::equal(host(offset, size), expected)) << size << " at " << offset;
        ASSERT_EQ(host(offset + size, 1)[0], std::byte{0xee});
        ASSERT_TRUE(offset == 0 || host(offset - 1, 1)[0] == std::byte{0xee});
      }
    }
  }
}

TEST_F(KernelsTest, FindTheFirstWrongByteWhereverItIs) {
  for (const std::uint64_t size : kSizes) {
    for (const std::uint64_t offset : kOffsets) {
      memory::fill_pattern(host(offset, size), 9);
      EXPECT_EQ(kernels_.find_mismatch(stream_, memory_.data() + offset, size, 9, soon()),
                std::nullopt);
      for (const std::uint64_t wrong : {std::uint64_t{0}, size / 3, size / 2, size - 1}) {
        host(offset + wrong, 1)[0] ^= std::byte{0x10};
        host(offset + size - 1, 1)[0] ^= std::byte{0x01};
        EXPECT_EQ(kernels_.find_mismatch(stream_, memory_.data() + offset, size, 9, soon()), wrong)
            << size << " at " << offset;
        host(offset + wrong, 1)[0] ^= std::byte{0x10};
        host(offset + size - 1, 1)[0] ^= std::byte{0x01};
      }
    }
  }
}

TEST_F(KernelsTest, MessagesHaveTheTagsOfTheirNumbers) {
  const Slots slots{.data = memory_.data(), .size = 100, .stride = 128, .count = 600, .first = 254};
  kernels_.fill_pattern(stream_, slots);
  stream_.synchronize(soon());
  for (std::uint64_t i = 0; i < slots.count; ++i) {
    const auto tag = static_cast<std::uint8_t>((slots.first + i) % 255 + 1);
    ASSERT_EQ(memory::find_mismatch(host(i * 128, 100), tag), std::nullopt) << i;
  }
  EXPECT_EQ(kernels_.find_mismatch(stream_, slots, soon()), std::nullopt);
  host(599 * 128 + 3, 1)[0] ^= std::byte{1};
  EXPECT_EQ(kernels_.find_mismatch(stream_, slots, soon()), (Mismatch{599, 3}));
  host(4 * 128 + 99, 1)[0] ^= std::byte{1};
  host(4 * 128 + 98, 1)[0] ^= std::byte{1};
  EXPECT_EQ(kernels_.find_mismatch(stream_, slots, soon()), (Mismatch{4, 98}));
}

TEST_F(KernelsTest, MoreMessagesThanAGridHasRows) {
  const Slots slots{.data = memory_.data(), .size = 4, .stride = 4, .count = 70000};
  kernels_.fill_pattern(stream_, slots);
  stream_.synchronize(soon());
  host(69999 * 4, 1)[0] ^= std::byte{1};
  EXPECT_EQ(kernels_.find_mismatch(stream_, slots, soon()), (Mismatch{69999, 0}));
}

TEST_F(KernelsTest, EmptyAndOverlappingMessages) {
  kernels_.fill_pattern(stream_, memory_.data(), 0, 1);
  EXPECT_EQ(kernels_.find_mismatch(stream_, memory_.data(), 0, 1, soon()), std::nullopt);
  EXPECT_EQ(fake_cuda_calls("cuLaunchKernel"), 0);
  const Slots over{.data = memory_.data(), .size = 100, .stride = 64, .count = 2};
  EXPECT_EQ(complaint([&] { kernels_.fill_pattern(stream_, over); }).fault(), Fault::usage);
  EXPECT_EQ(complaint([&] { kernels_.find_mismatch(stream_, over, soon()); }).fault(),
            Fault::usage);
}

TEST_F(KernelsTest, MemoryThatIsNotThereFailsTheStream) {
  const Error error = complaint([&] { kernels_.find_mismatch(stream_, 0xdead0000, 8, 1, soon()); });
  // Said by the wait, or by the copy that comes after the kernel.
  EXPECT_EQ(error.fault(), Fault::failed);
  EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
}

using KernelsFailTest = GpuTest;

TEST_F(KernelsFailTest, AResultThatDoesNotComeEndsAtTheDeadline) {
  pretend("FAKE_CUDA_STUCK", "2");
  const Context context(0);
  const Allocation memory(context, 64);
  Stream stream(context);
  Kernels kernels(context);
  EXPECT_THAT(complaint([&] {
                kernels.find_mismatch(stream, memory.data(), 64, 1, Deadline::after(10ms));
              }).what(),
              HasSubstr("was not done within"));
  fake_cuda_unstick();
}

TEST_F(KernelsFailTest, SaysWhyTheyCannotBeLoadedOrLaunched) {
  pretend("FAKE_CUDA_JIT", std::to_string(cuda::kUnsupportedPtxVersion));
  const Error old = complaint([] { Kernels{Context(0)}; });
  EXPECT_EQ(old.fault(), Fault::unavailable);
  EXPECT_THAT(old.what(), HasSubstr("cuModuleLoadData(kernels, on cuda:0"));
  EXPECT_THAT(old.remedy(), HasSubstr("11.7"));
  expect_nothing_alive();
  pretend("FAKE_CUDA_JIT", "0");
  pretend("FAKE_CUDA_FAIL", "cuModuleGetFunction:2:500");
  EXPECT_THAT(complaint([] { Kernels{Context(0)}; }).what(), HasSubstr("rdmabench_find_mismatch"));
  expect_nothing_alive();
  pretend("FAKE_CUDA_FAIL", "cuLaunchKernel:1:701");
  const Context context(0);
  const Allocation memory(context, 64);
  Stream stream(context);
  Kernels kernels(context);
  EXPECT_THAT(complaint([&] { kernels.fill_pattern(stream, memory.data(), 64, 1); }).what(),
              HasSubstr("cuLaunchKernel(rdmabench_fill"));
}

TEST_F(KernelsFailTest, LeaveNothingBehind) {
  {
    const Kernels kernels{Context(0)};
    EXPECT_EQ(fake_cuda_alive("module"), 1);
  }
  expect_nothing_alive();
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu

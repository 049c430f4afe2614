#include "gpu/copy.h"

#include <algorithm>
#include <vector>

#include "gpu/allocation.h"
#include "gpu_fixture.h"

namespace rdmabench::inline v1::gpu {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class CopyTest : public GpuTest {
 protected:
  static std::vector<std::byte> numbers(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
    return bytes;
  }
};

TEST_F(CopyTest, AnyHostMemoryGoesThereAndBack) {
  const Context context(0);
  Stream stream(context);
  // More than the staging buffer holds, and no whole number of it.
  const std::vector<std::byte> sent = numbers((4U << 20) + 4097);
  const Allocation memory(context, sent.size() + 3);
  PinnedHost staging(context, kStagingBytes);
  copy_to_device(stream, staging, memory.data() + 3, sent, soon());
  EXPECT_TRUE(std::ranges::equal(bytes_at(memory.data() + 3, sent.size()), sent));
  std::vector<std::byte> received(sent.size());
  copy_from_device(stream, staging, received, memory.data() + 3, soon());
  EXPECT_EQ(received, sent);
  copy_to_device(stream, staging, memory.data(), {}, soon());
  copy_from_device(stream, staging, {}, memory.data(), soon());
  EXPECT_EQ(fake_cuda_calls("cuMemHostAlloc"), 1);
  EXPECT_EQ(fake_cuda_calls("cuMemcpyHtoDAsync_v2"), 2);
}

TEST_F(CopyTest, PinnedMemoryIsCopiedInTheStreamsOrder) {
  const Context context(0);
  Stream stream(context);
  PinnedHost pages(context, 64);
  const Allocation a(context, 64);
  const Allocation b(context, 64, Mode::vmm);
  pages.bytes()[8] = std::byte{5};
  enqueue_set(stream, a.data(), std::byte{1}, 64);
  enqueue_copy_to_device(stream, a.data() + 4, pages, 1, 8);
  enqueue_copy(stream, b.data() + 1, a.data() + 3, 3);
  enqueue_copy_from_device(stream, pages, b.data() + 1, 3, 61);
  stream.synchronize(soon());
  EXPECT_EQ(pages.bytes()[61], std::byte{1});
  EXPECT_EQ(pages.bytes()[62], std::byte{5});
  EXPECT_EQ(pages.bytes()[63], std::byte{1});
}

TEST_F(CopyTest, ACopyOutsideOfItsBufferIsRefused) {
  const Context context(0);
  Stream stream(context);
  PinnedHost pages(context, 64);
  const Allocation memory(context, 64);
  struct Part {
    std::uint64_t bytes, offset;
  };
  for (const Part part : {Part{65, 0}, {1, 64}, {8, ~0UL - 3}}) {
    EXPECT_EQ(complaint([&] {
                enqueue_copy_to_device(stream, memory.data(), pages, part.bytes, part.offset);
              }).fault(),
              Fault::usage);
    EXPECT_EQ(complaint([&] {
                enqueue_copy_from_device(stream, pages, memory.data(), part.bytes, part.offset);
              }).fault(),
              Fault::usage);
  }
}

TEST_F(CopyTest, AStuckStreamEndsTheCopyAtItsDeadline) {
  pretend("FAKE_CUDA_STUCK", "1");
  const Context context(0);
  const Allocation memory(context, 64);
  Stream stream(context);
  PinnedHost staging(context, 64);
  std::vector<std::byte> bytes(64);
  EXPECT_THAT(complaint([&] {
                copy_from_device(stream, staging, bytes, memory.data(), Deadline::after(5ms));
              }).what(),
              has_all("copy from the GPU on cuda:0", "not done within"));
  EXPECT_THAT(complaint([&] {
                copy_to_device(stream, staging, memory.data(), bytes, Deadline::after(5ms));
              }).what(),
              has_all("copy to the GPU on cuda:0", "not done within"));
  fake_cuda_unstick();
}

TEST_F(CopyTest, EveryRefusalNamesItsCall) {
  pretend("FAKE_CUDA_FAIL",
          "cuMemcpyHtoDAsync_v2:0:1,cuMemcpyDtoHAsync_v2:0:1,cuMemcpyDtoDAsync_v2:0:1,"
          "cuMemsetD8Async:0:1");
  const Context context(0);
  Stream stream(context);
  PinnedHost pages(context, 8);
  const Allocation memory(context, 8);
  const DevicePointer at = memory.data();
  EXPECT_THAT(complaint([&] { enqueue_copy_to_device(stream, at, pages, 8); }).what(),
              HasSubstr("cuMemcpyHtoDAsync(8 bytes"));
  EXPECT_THAT(complaint([&] { enqueue_copy_from_device(stream, pages, at, 8); }).what(),
              HasSubstr("cuMemcpyDtoHAsync(8 bytes"));
  EXPECT_THAT(complaint([&] { enqueue_copy(stream, at, at, 8); }).what(),
              HasSubstr("cuMemcpyDtoDAsync(8 bytes"));
  EXPECT_THAT(complaint([&] { enqueue_set(stream, at, std::byte{0}, 8); }).what(),
              HasSubstr("cuMemsetD8Async(8 bytes"));
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu

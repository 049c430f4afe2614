// memory::Kind::cuda over the fake driver.
#include <array>
#include <vector>

#include "memory/gpu_memory.h"
#include "on_fake_gpu.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::memory {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kBytes = 10000;

class GpuBuffer : public OnFakeGpu {};

std::span<std::byte> host_view(const Buffer& buffer) {
  auto* bytes = static_cast<std::byte*>(
      fake_cuda_host_pointer(reinterpret_cast<std::uintptr_t>(buffer.data())));
  return {bytes, buffer.size()};
}

TEST_F(GpuBuffer, IsZeroedAndItsBytesAreTheGpusAlone) {
  for (const char* text : {"cuda:0", "cuda:1,vmm", "cuda:auto"}) {
    Buffer buffer(parse_request(text), kBytes);
    ASSERT_NE(buffer.gpu(), nullptr);
    EXPECT_NE(static_cast<void*>(host_view(buffer).data()), static_cast<void*>(buffer.data()));
    for (const std::byte one : host_view(buffer)) ASSERT_EQ(one, std::byte{0});
    EXPECT_THAT(buffer.placement(), HasSubstr("cuda:"));
    EXPECT_TRUE(buffer.nodes().empty());
  }
}

TEST_F(GpuBuffer, WritesAndComparesTheHostsPattern) {
  Buffer buffer(parse_request("cuda:0"), kBytes);
  GpuMemory& gpu = *buffer.gpu();
  gpu.fill(64, 100, 128, 5);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto tag = static_cast<std::uint8_t>(i + 1);
    EXPECT_FALSE(find_mismatch(host_view(buffer).subspan(64 + 128 * i, 100), tag)) << i;
  }
  EXPECT_FALSE(gpu.find_mismatch(64, 100, 128, 5).has_value());
  host_view(buffer)[64 + 128 * 3 + 17] ^= std::byte{1};
  EXPECT_EQ(gpu.find_mismatch(64, 100, 128, 5), (gpu::Mismatch{3, 17}));
  gpu.clear(64, 100);
  std::array<std::byte, 1> last{std::byte{9}};
  gpu.read(64 + 99, last);
  EXPECT_EQ(last[0], std::byte{0});
}

TEST_F(GpuBuffer, StagedMemoryIsTheHostsAndStillPassesThroughTheGpu) {
  Request request = parse_request("cuda:0");
  request.unaligned = 24;
  Buffer buffer(request, kBytes);
  const void* before = buffer.data();
  buffer.stage_through_host();
  EXPECT_NE(before, buffer.data());
  EXPECT_TRUE(buffer.gpu()->staged());
  buffer.gpu()->fill(8, 256, 256, 2);
  EXPECT_FALSE(find_mismatch(buffer.bytes().subspan(8, 256), 1)) << "a copy of what the GPU wrote";
  EXPECT_FALSE(buffer.gpu()->find_mismatch(8, 256, 256, 2).has_value());
  buffer.bytes()[8 + 256 + 3] ^= std::byte{4};  // as if it came over the wire so
  EXPECT_EQ(buffer.gpu()->find_mismatch(8, 256, 256, 2), (gpu::Mismatch{1, 3}));
  const CopyTimes times = buffer.gpu()->measure_copies(4096);
  EXPECT_EQ(times.bytes, 4096U);
  EXPECT_GT(times.to_device_ns, 0);
  EXPECT_GT(times.from_device_ns, 0);
}

TEST_F(GpuBuffer, LateWritesAreFlushedWhereTheGpuSaysSo) {
  have({{"FAKE_CUDA_ORDERING", "0"}});
  Buffer buffer(parse_request("cuda:0"), kBytes);
  std::array<std::byte, 8> some{};
  buffer.gpu()->read(0, some);
  EXPECT_EQ(fake_cuda_calls("cuFlushGPUDirectRDMAWrites"), 1);
  buffer.stage_through_host();
  buffer.gpu()->read(0, some);
  EXPECT_EQ(fake_cuda_calls("cuFlushGPUDirectRDMAWrites"), 1) << "the wire wrote host memory";
}

TEST_F(GpuBuffer, WhereNoCallFlushesTheNicsReadDoes) {
  have({{"FAKE_CUDA_ORDERING", "0"}, {"FAKE_CUDA_FLUSH", "0"}});
  Buffer buffer(parse_request("cuda:0"), kBytes);
  GpuMemory& gpu = *buffer.gpu();
  EXPECT_TRUE(gpu.needs_nic_read());
  EXPECT_THAT(gpu.flush_text(), HasSubstr("not done"));
  int reads = 0;
  gpu.flush_by([&] { ++reads; }, "a read");
  EXPECT_EQ(gpu.flush_text(), "a read");
  std::array<std::byte, 8> some{};
  gpu.read(0, some);
  EXPECT_EQ(reads, 1);
  EXPECT_FALSE(gpu.find_mismatch(0, 0, 64, 0).has_value());
  EXPECT_EQ(reads, 1) << "nothing was looked at";
  gpu.fill(0, 64, 64, 1);
  EXPECT_EQ(reads, 1) << "nothing of what arrived was looked at";
  EXPECT_FALSE(gpu.find_mismatch(0, 64, 64, 1).has_value());
  EXPECT_EQ(reads, 2);
  buffer.stage_through_host();
  EXPECT_THAT(gpu.flush_text(), HasSubstr("not needed"));
}

TEST_F(GpuBuffer, OnACoherentGpuTheNicsReadFlushesWhateverTheDriverSays) {
  have({{"FAKE_CUDA_COHERENT", "1"}, {"FAKE_CUDA_ORDERING", "200"}, {"FAKE_CUDA_FLUSH", "1"}});
  Buffer buffer(parse_request("cuda:0"), kBytes);
  EXPECT_TRUE(buffer.gpu()->needs_nic_read());
  EXPECT_THAT(buffer.gpu()->flush_text(), HasSubstr("coherent link"));
  int reads = 0;
  buffer.gpu()->flush_by([&] { ++reads; }, "a read");
  std::array<std::byte, 8> some{};
  for (int i = 0; i < 3; ++i) buffer.gpu()->read(0, some);
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(fake_cuda_calls("cuFlushGPUDirectRDMAWrites"), 0);
  EXPECT_EQ(fake_cuda_calls("cuMemHostAlloc"), 1) << "one staging buffer for all reads";
}

TEST_F(GpuBuffer, AGpuThatIsNotThereIsNamedWithThoseThatAre) {
  EXPECT_EQ(complaint([] { Buffer(parse_request("cuda:7"), kBytes); }).fault(), Fault::usage);
  EXPECT_EQ(complaint([] { check_available(parse_request("cuda:7")); }).fault(), Fault::usage);
  have({{"FAKE_CUDA_DEVICES", "0"}});
  const Error error = complaint([] { Buffer(parse_request("cuda:0"), kBytes); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
}

TEST(GpuText, IsReadAndWrittenAlike) {
  for (const char* text : {"cuda:0", "cuda:12,vmm", "cuda:0000:1b:00.0", "cuda:1b:00.0,vmm",
                           "cuda:GPU-5d1d2b0c", "cuda:auto"}) {
    EXPECT_EQ(to_text(parse_request(text)), text);
  }
  EXPECT_EQ(parse_request("cuda"), parse_request("cuda:auto"));
  EXPECT_EQ(parse_request("cuda:3,plain"), parse_request("cuda:3"));
  for (const char* text : {"cuda:", "cuda:x", "cuda:0,fast", "cuda:-1", "cuda:GPU-", "cuda:0 "}) {
    const Error error = complaint([&] { parse_request(text); });
    EXPECT_EQ(error.fault(), Fault::usage) << text;
    EXPECT_THAT(error.what(), HasSubstr("cuda:GPU-UUID"));
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::memory

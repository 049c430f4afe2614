#include "gpu/dma_buf.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "gpu_fixture.h"

namespace rdmabench::inline v1::gpu {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using DmaBufTest = GpuTest;

std::byte* first_byte(const DmaBuf& exported) {
  unsigned long long bytes = 0;
  auto* host =
      static_cast<std::byte*>(fake_cuda_dma_buf_host_pointer(exported.descriptor(), &bytes));
  return host == nullptr || bytes < exported.bytes() ? nullptr : host + exported.offset();
}

TEST_F(DmaBufTest, HoldsTheBytesOfEitherKindOfMemory) {
  for (const Mode mode : {Mode::plain, Mode::vmm}) {
    const Allocation memory(Context(0), 5000, mode);
    const DmaBuf exported = export_dma_buf(memory);
    EXPECT_GE(exported.descriptor(), 0);
    EXPECT_EQ(exported.offset(), 0U);
    EXPECT_EQ(exported.bytes(), 8192U);
    EXPECT_EQ(exported.mapping(), DmaBufMapping::standard);
    EXPECT_EQ(exported.reason(), "standard: the GPU has only PCIe");
    EXPECT_EQ(first_byte(exported), bytes_at(memory.data(), 1).data());
  }
}

TEST_F(DmaBufTest, IsWholePagesWithTheOffsetOfTheFirstByte) {
  const Allocation memory(Context(0), 5 * 4096);
  const DmaBuf exported = export_dma_buf(memory.context(), memory.data() + 4096 + 100, 4096);
  EXPECT_EQ(exported.offset(), 100U);
  EXPECT_EQ(exported.bytes(), 8192U);
  EXPECT_EQ(first_byte(exported), bytes_at(memory.data() + 4196, 1).data());
}

TEST_F(DmaBufTest, ClosesItsDescriptorOnce) {
  const Allocation memory(Context(0), 1);
  int descriptor = -1;
  {
    DmaBuf exported = export_dma_buf(memory);
    descriptor = exported.descriptor();
    DmaBuf moved(std::move(exported));
    EXPECT_EQ(exported.descriptor(), -1);
    exported = std::move(moved);
    EXPECT_EQ(exported.descriptor(), descriptor);
    EXPECT_NE(fcntl(descriptor, F_GETFD), -1);
  }
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
  EXPECT_EQ(DmaBuf().descriptor(), -1);
}

TEST_F(DmaBufTest, PcieIsWhatWasAskedForOrAnError) {
  const Allocation memory(Context(0), 1);
  const DmaBuf exported = export_dma_buf(memory, DmaBufMapping::pcie);
  EXPECT_EQ(exported.mapping(), DmaBufMapping::pcie);
  EXPECT_EQ(exported.reason(), "pcie: requested");
  EXPECT_EQ(export_dma_buf(memory, DmaBufMapping::standard).reason(), "standard: requested");
}

TEST_F(DmaBufTest, PcieThatIsRefusedSaysWhy) {
  pretend("FAKE_CUDA_PCIE", "refuse");
  const Allocation memory(Context(0), 1);
  const Error refused = complaint([&] { export_dma_buf(memory, DmaBufMapping::pcie); });
  EXPECT_EQ(refused.fault(), Fault::unavailable);
  EXPECT_THAT(refused.what(), HasSubstr("CUDA_ERROR_NOT_SUPPORTED"));
  EXPECT_THAT(refused.remedy(), HasSubstr("default"));
}

TEST_F(DmaBufTest, AnOldDriverIsNotEvenAskedForPcie) {
  pretend("FAKE_CUDA_DRIVER", "12040");
  const Driver old = driver_without({});
  const Allocation memory(Context(old, 0), 1);
  EXPECT_THAT(complaint([&] { export_dma_buf(memory, DmaBufMapping::pcie); }).what(),
              has_all("driver 12.4", "needs 12.8"));
  EXPECT_EQ(fake_cuda_calls("cuMemGetHandleForAddressRange"), 0);
}

TEST_F(DmaBufTest, WithACoherentLinkPcieComesFirst) {
  pretend("FAKE_CUDA_COHERENT", "1");
  {
    const Allocation memory(Context(0), 1);
    const DmaBuf exported = export_dma_buf(memory);
    EXPECT_EQ(exported.mapping(), DmaBufMapping::pcie);
    EXPECT_THAT(exported.reason(), HasSubstr("coherent link"));
  }
  pretend("FAKE_CUDA_PCIE", "refuse");
  const Allocation memory(Context(0), 1);
  const DmaBuf fallen = export_dma_buf(memory);
  EXPECT_EQ(fallen.mapping(), DmaBufMapping::standard);
  EXPECT_THAT(fallen.reason(), StartsWith("standard, over the coherent link"));
  EXPECT_THAT(fallen.reason(), HasSubstr("CUDA_ERROR_NOT_SUPPORTED"));
}

TEST_F(DmaBufTest, WithoutItTheOtherWayIsNamed) {
  {
    const Driver old = driver_without({"cuMemGetHandleForAddressRange"});
    const Allocation memory(Context(old, 0), 1);
    const Error error = complaint([&] { export_dma_buf(memory); });
    EXPECT_EQ(error.fault(), Fault::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("11.7"));
  }
  pretend("FAKE_CUDA_DMA_BUF", "0");
  const Allocation memory(Context(0), 1);
  const Error error = complaint([&] { export_dma_buf(memory); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("open NVIDIA kernel modules"));
  EXPECT_THAT(error.remedy(), HasSubstr("nvidia_peermem"));
}

TEST_F(DmaBufTest, WhatTheDriverRefusesIsSaidWithTheRange) {
  pretend("FAKE_CUDA_FAIL", "cuMemGetHandleForAddressRange:1:1");
  const Allocation memory(Context(0), 1);
  const Error error = complaint([&] { export_dma_buf(memory); });
  EXPECT_EQ(error.fault(), Fault::failed);
  EXPECT_THAT(error.what(), HasSubstr("4096 bytes, standard mapping"));
  EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_INVALID_VALUE"));
}

TEST_F(DmaBufTest, NothingCannotBeExported) {
  const Allocation memory(Context(0), 1);
  EXPECT_EQ(complaint([&] { export_dma_buf(memory.context(), memory.data(), 0); }).fault(),
            Fault::usage);
  EXPECT_EQ(complaint([&] { export_dma_buf(memory.context(), 0, 1); }).fault(), Fault::usage);
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu

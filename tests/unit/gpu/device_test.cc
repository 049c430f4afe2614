#include "gpu/device.h"

#include "gpu_fixture.h"

namespace rdmabench::inline v1::gpu {
namespace {

using testing::HasSubstr;
using DeviceTest = GpuTest;

TEST_F(DeviceTest, TellsWhatTheDriverTells) {
  const std::vector<DeviceInfo> found = devices();
  ASSERT_EQ(found.size(), 2U);
  const DeviceInfo& second = found[1];
  EXPECT_EQ(second.ordinal, 1);
  EXPECT_EQ(second.name, "Fake GPU");
  EXPECT_EQ(second.uuid, "GPU-f1a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
  EXPECT_EQ(second.pci_address, "0000:43:00.0");
  EXPECT_EQ(second.memory_bytes, 1U << 30);
  EXPECT_EQ(second.major, 9);
  EXPECT_EQ(second.multiprocessors, 2);
  EXPECT_TRUE(second.dma_buf && second.vmm && second.vmm_rdma);
  EXPECT_FALSE(second.coherent);
  EXPECT_EQ(second.writes_ordering, 200);
  EXPECT_EQ(second.flush_options, 1);
  EXPECT_EQ(to_text(second), "cuda:1 Fake GPU, 0000:43:00.0, 1.0 GiB, compute capability 9.0");
}

TEST_F(DeviceTest, WhatItCannotDoIsFalse) {
  pretend("FAKE_CUDA_RDMA", "0");
  pretend("FAKE_CUDA_VMM", "0");
  const DeviceInfo device = devices().front();
  EXPECT_FALSE(device.dma_buf || device.vmm || device.vmm_rdma);
}

TEST_F(DeviceTest, AFunctionThatIsMissingIsAnAbilityLess) {
  const DeviceInfo device =
      devices(driver_without({"cuMemCreate", "cuMemGetHandleForAddressRange"})).front();
  EXPECT_FALSE(device.vmm || device.vmm_rdma || device.dma_buf);
}

TEST_F(DeviceTest, SaysThatThereIsNone) {
  driver();
  pretend("FAKE_CUDA_DEVICES", "0");
  const Error error = complaint([] { devices(); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_NO_DEVICE"));
}

TEST_F(DeviceTest, EveryFailureNamesItsCall) {
  for (const char* name : {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
                           "cuDeviceGetPCIBusId", "cuDeviceGetUuid_v2", "cuDeviceTotalMem_v2"}) {
    pretend("FAKE_CUDA_FAIL", std::string(name) + ":1:999");
    const std::string call = std::string(name).substr(0, std::string(name).find('_'));
    EXPECT_THAT(complaint([] { devices(); }).what(), HasSubstr(call)) << name;
  }
}

TEST_F(DeviceTest, IsFoundByNumberAddressAndUuid) {
  for (const char* text : {"1", "0000:43:00.0", "43:00.0", "00000000:43:00.0", "GPU-f1a1a2a3",
                           "MIG-f1a1a2a3", "gpu-F1A1A2A3-a4a5-a6a7-a8a9-aaabacadaeaf"}) {
    EXPECT_EQ(find_device(text).ordinal, 1) << text;
  }
  pretend("FAKE_CUDA_PCI", "0000:1B:00.0,0001:AB:00.0");
  EXPECT_EQ(find_device("0000:1B:00.0").ordinal, 0);
  EXPECT_EQ(find_device("0001:ab:00.0").ordinal, 1);
}

TEST_F(DeviceTest, WhatIsNotThereIsRefusedWithWhatIs) {
  for (const char* text : {"2", "", "-1", "0000:44:00.0", "GPU-", "mlx5_0", "1 "}) {
    const Error error = complaint([&] { find_device(text); });
    EXPECT_EQ(error.fault(), Fault::usage) << text;
    EXPECT_THAT(error.what(), HasSubstr("'" + std::string(text) + "'"));
    EXPECT_THAT(error.remedy(), HasSubstr("0 = 0000:1b:00.0 = GPU-f0"));
    EXPECT_THAT(error.remedy(), HasSubstr("1 = 0000:43:00.0"));
  }
  EXPECT_THAT(complaint([] { find_device("GPU-f"); }).what(), HasSubstr("it matches 2 GPUs"));
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu

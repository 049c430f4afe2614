#include "gpu/driver.h"

#include <algorithm>

#include "gpu/cuda_error.h"
#include "gpu/flush.h"
#include "gpu_fixture.h"

namespace rdmabench::inline v1::gpu {
namespace {

using testing::HasSubstr;
using DriverTest = GpuTest;

TEST_F(DriverTest, IsLoadedOnceFromWhereTheLinkerFindsIt) {
  const Driver& table = driver();
  EXPECT_EQ(&table, &driver());
  EXPECT_THAT(table.path, HasSubstr("libcuda.so.1"));
  EXPECT_NE(table.mem_get_handle_for_address_range, nullptr);
}

TEST_F(DriverTest, NamesEveryFunctionThatIsMissing) {
  const Error error = complaint([] { driver_without({"cuMemAlloc_v2", "cuLaunchKernel"}); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("cuMemAlloc_v2, cuLaunchKernel"));
  EXPECT_THAT(error.what(), HasSubstr("CUDA 11.7 or newer"));
}

TEST_F(DriverTest, ToleratesWhatOldDriversLack) {
  const Driver table = driver_without({"cuMemGetHandleForAddressRange", "cuCtxSetFlags",
                                       "cuFlushGPUDirectRDMAWrites", "cuGraphLaunch"});
  EXPECT_EQ(table.mem_get_handle_for_address_range, nullptr);
  EXPECT_EQ(table.graph_launch, nullptr);
  EXPECT_NE(table.mem_alloc, nullptr);
}

TEST_F(DriverTest, SaysWhyItCannotBeInitialised) {
  struct Case {
    cuda::Result result;
    const char* name;
    const char* remedy;
  };
  for (const Case& c : {Case{cuda::kNoDevice, "CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES"},
                        Case{cuda::kSystemDriverMismatch, "SYSTEM_DRIVER_MISMATCH", "reboot"},
                        Case{cuda::kStubLibrary, "34", "LD_LIBRARY_PATH"}}) {
    pretend("FAKE_CUDA_INIT", std::to_string(c.result));
    const Error error = complaint([] { driver_without({}); });
    EXPECT_EQ(error.fault(), Fault::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("cuInit()"));
    EXPECT_THAT(error.what(), HasSubstr(c.name));
    EXPECT_THAT(error.remedy(), HasSubstr(c.remedy));
  }
}

TEST_F(DriverTest, TellsItsVersion) {
  pretend("FAKE_CUDA_DRIVER", "11060");
  EXPECT_EQ(driver_without({}).version, 11060);
  EXPECT_EQ(version_text(11060), "11.6");
  EXPECT_EQ(version_text(13000), "13.0");
}

TEST_F(DriverTest, AnErrorHasTheDriversWordsAndOurRemedy) {
  const Error known = cuda_error(driver(), cuda::kOutOfMemory, "cuMemAlloc(7 bytes)");
  EXPECT_EQ(known.fault(), Fault::failed);
  EXPECT_THAT(known.what(),
              HasSubstr("cuMemAlloc(7 bytes): CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"));
  EXPECT_THAT(known.remedy(), HasSubstr("nvidia-smi"));
  EXPECT_EQ(cuda_error(driver(), cuda::kNotSupported, "x").fault(), Fault::unavailable);
  EXPECT_EQ(cuda_error(driver(), cuda::kOutOfMemory, "x", "Mine").remedy(), "Mine");
  EXPECT_THAT(cuda_error(driver(), 12345, "x").what(), HasSubstr("CUresult 12345"));
  EXPECT_NO_THROW(check(driver(), cuda::kSuccess, "x"));
}

DeviceInfo device_with(int ordering, int options, bool coherent = false) {
  DeviceInfo device;
  device.writes_ordering = ordering;
  device.flush_options = options;
  device.coherent = coherent;
  return device;
}

TEST_F(DriverTest, AFlushIsNeededOnlyWhereWritesAreNotOrdered) {
  EXPECT_FALSE(flush_rule(device_with(100, 0)).needed);
  EXPECT_FALSE(flush_rule(device_with(200, 1)).needed);
  for (const int ordering : {0, 100, 200}) {  // GH200, GB200: whatever the driver says
    const FlushRule coherent = flush_rule(device_with(ordering, 1, true));
    EXPECT_TRUE(coherent.needed);
    EXPECT_FALSE(coherent.by_driver);
    EXPECT_THAT(coherent.text, HasSubstr("coherent link"));
  }
  const FlushRule by_driver = flush_rule(device_with(0, 1));
  EXPECT_TRUE(by_driver.needed);
  EXPECT_TRUE(by_driver.by_driver);
  EXPECT_THAT(by_driver.text, HasSubstr("cuFlushGPUDirectRDMAWrites"));
  const FlushRule by_read = flush_rule(device_with(0, 2));
  EXPECT_TRUE(by_read.needed);
  EXPECT_FALSE(by_read.by_driver);
  EXPECT_THAT(by_read.text, HasSubstr("only by a read of the NIC"));
}

TEST_F(DriverTest, FlushesInTheContextOfTheDevice) {
  flush_writes(Context(1));
  EXPECT_EQ(fake_cuda_calls("cuFlushGPUDirectRDMAWrites"), 1);
}

TEST_F(DriverTest, TellsAFlushThatIsLackingFromOneThatFails) {
  const Driver old = driver_without({"cuFlushGPUDirectRDMAWrites"});
  EXPECT_EQ(complaint([&] { flush_writes(Context(old, 0)); }).fault(), Fault::unavailable);
  pretend("FAKE_CUDA_FLUSH", "2");
  EXPECT_EQ(complaint([] { flush_writes(Context(0)); }).fault(), Fault::unavailable);
  pretend("FAKE_CUDA_FLUSH", "1");
  pretend("FAKE_CUDA_FAIL", "cuFlushGPUDirectRDMAWrites:1:719");
  EXPECT_EQ(complaint([] { flush_writes(Context(0)); }).fault(), Fault::failed);
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu

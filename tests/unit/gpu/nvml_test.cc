#include "gpu/nvml.h"

#include "gpu_fixture.h"

namespace rdmabench::gpu {
namespace {

using testing::HasSubstr;
using NvmlTest = GpuTest;

/// The functions of the loaded fake, but one.
FindFunction without(const std::string& missing) {
  return [missing](const char* name) -> void* {
    static void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    return name == missing || library == nullptr ? nullptr : dlsym(library, name);
  };
}

TEST_F(NvmlTest, TellsBar1AndTheLink) {
  const GpuFacts facts = read_gpu_facts("0000:1b:00.0");
  EXPECT_EQ(facts.driver, "570.00.00");
  EXPECT_EQ(facts.bar1_bytes, 1ULL << 37);
  EXPECT_EQ(facts.bar1_free_bytes, 1ULL << 36);
  EXPECT_EQ(facts.pcie_generation, 4U);
  EXPECT_EQ(facts.max_pcie_generation, 5U);
  EXPECT_EQ(facts.pcie_width, 8U);
  EXPECT_EQ(facts.max_pcie_width, 16U);
  EXPECT_EQ(facts.c2c, false);
  EXPECT_EQ(to_text(facts),
            "driver 570.00.00, PCIe generation 4 of 5, 8 lanes of 16, BAR1 128G, no NVLink-C2C");
  pretend("FAKE_CUDA_COHERENT", "1");
  EXPECT_EQ(read_gpu_facts("0000:1b:00.0").c2c, true);
}

TEST_F(NvmlTest, WhatIsNotToldHasNoValue) {
  pretend("FAKE_NVML_TELLS", "0");
  const GpuFacts facts = read_gpu_facts("0000:1b:00.0");
  EXPECT_FALSE(facts.bar1_bytes || facts.pcie_generation || facts.max_pcie_width || facts.c2c);
  EXPECT_EQ(to_text(facts), "");
}

TEST_F(NvmlTest, AGpuThatItDoesNotKnowIsNamed) {
  const Error error = error_of([] { read_gpu_facts("0000:ff:00.0"); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("(0000:ff:00.0): Not Found (nvmlReturn_t 6)"));
}

TEST_F(NvmlTest, NamesWhatIsMissing) {
  const Error error = error_of([] { load_nvml(without("nvmlDeviceGetBAR1MemoryInfo"), "it"); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("it lacks nvmlDeviceGetBAR1MemoryInfo"));
  EXPECT_EQ(load_nvml(without("nvmlDeviceGetC2cModeInfoV"), "it").get_c2c_mode, nullptr);
}

TEST_F(NvmlTest, SaysWhyItCannotBeInitialised) {
  pretend("FAKE_NVML_INIT", "9");
  const Error error = error_of([] { load_nvml(without(""), "it"); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("nvmlInit() of it: Driver Not Loaded (nvmlReturn_t 9)"));
}

}  // namespace
}  // namespace rdmabench::gpu

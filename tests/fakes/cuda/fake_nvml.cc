// The fake libnvidia-ml.so.1, with the GPUs of the fake libcuda.so.1. FAKE_NVML_INIT=R makes
// nvmlInit_v2 return R; FAKE_NVML_TELLS=0 makes every query fail, FAKE_NVML_BAR1=0 that of BAR1.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpu/nvml_abi.h"
#include "world.h"

namespace abi_nvml = rdmabench::gpu::nvml_abi;
using abi_nvml::Result;

namespace {

bool tells() {
  const char* text = std::getenv("FAKE_NVML_TELLS");
  return text == nullptr || std::strcmp(text, "0") != 0;
}

Result give(unsigned* to, unsigned value) {
  if (!tells()) return abi_nvml::kNotSupported;
  *to = value;
  return abi_nvml::kSuccess;
}

}  // namespace

extern "C" {

Result nvmlInit_v2() {
  const char* text = std::getenv("FAKE_NVML_INIT");
  return text != nullptr ? std::atoi(text) : abi_nvml::kSuccess;
}

const char* nvmlErrorString(Result result) {
  switch (result) {
    case abi_nvml::kDriverNotLoaded:
      return "Driver Not Loaded";
    case abi_nvml::kNotFound:
      return "Not Found";
    default:
      return "Unknown Error";
  }
}

Result nvmlDeviceGetHandleByPciBusId_v2(const char* address, nvmlDevice_st** device) {
  const fake_cuda::Controls controls = fake_cuda::read_controls();
  for (std::size_t i = 0; i < static_cast<std::size_t>(controls.devices); ++i) {
    if (controls.pci[i] != address) continue;
    *device = reinterpret_cast<nvmlDevice_st*>(i + 1);
    return abi_nvml::kSuccess;
  }
  return abi_nvml::kNotFound;
}

Result nvmlSystemGetDriverVersion(char* text, unsigned length) {
  if (!tells()) return abi_nvml::kNotSupported;
  std::snprintf(text, length, "570.00.00");
  return abi_nvml::kSuccess;
}

Result nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_st*, abi_nvml::Bar1Memory* memory) {
  const char* const bar1 = std::getenv("FAKE_NVML_BAR1");
  if (!tells() || (bar1 != nullptr && std::strcmp(bar1, "0") == 0)) return abi_nvml::kNotSupported;
  *memory = {1ULL << 37, 1ULL << 36, 1ULL << 36};
  return abi_nvml::kSuccess;
}

Result nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_st*, unsigned* generation) {
  return give(generation, 4);
}

Result nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_st*, unsigned* queue_pairs) {
  return give(queue_pairs, 8);
}

Result nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_st*, unsigned* generation) {
  return give(generation, 5);
}

Result nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_st*, unsigned* queue_pairs) {
  return give(queue_pairs, 16);
}

Result nvmlDeviceGetC2cModeInfoV(nvmlDevice_st*, abi_nvml::C2cMode* mode) {
  return give(&mode->enabled, fake_cuda::read_controls().coherent ? 1 : 0);
}
}

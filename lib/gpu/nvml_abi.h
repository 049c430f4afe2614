// The types and constants of NVML that this room uses. Source: the NVML API Reference Guide; a test
// compares all of them with nvml.h if that is installed.
#pragma once

#include <cstdint>

struct nvmlDevice_st;

namespace rdmabench::gpu::nvml_abi {

/// nvmlReturn_t: 0 is success.
using Result = int;

inline constexpr Result kSuccess = 0;
inline constexpr Result kNotSupported = 3;
inline constexpr Result kNotFound = 6;
inline constexpr Result kDriverNotLoaded = 9;

/// nvmlBAR1Memory_t, bytes.
struct Bar1Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// nvmlC2cModeInfo_v1_t.
struct C2cMode {
  unsigned enabled;
};

}  // namespace rdmabench::gpu::nvml_abi

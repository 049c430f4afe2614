// NVIDIA's management library: what of it is called, declared here so that the build needs no
// toolkit. Private to this room. Source: NVML API Reference Guide; a test compares all of it with
// nvml.h where that is installed.
#pragma once

#include <array>

#include "base/symbol.h"

namespace rdmabench::inline v1::health::nvml {

/// nvmlReturn_t.
using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kNotSupported = 3;
inline constexpr Result kPowerCables = 8;
inline constexpr Result kIrqIssue = 11;
inline constexpr Result kFunctionNotFound = 13;
inline constexpr Result kLost = 15;
inline constexpr Result kResetRequired = 16;
inline constexpr Result kVersionMismatch = 18;

using Device = struct nvmlDevice_st*;

inline constexpr unsigned kMostLinks = 36;
inline constexpr int kUncorrected = 1;  ///< nvmlMemoryErrorType_t
inline constexpr int kSinceLoad = 0;    ///< nvmlEccCounterType_t
inline constexpr int kSmClock = 1;      ///< nvmlClockType_t
inline constexpr unsigned kRecoveryAction = 230;

/// nvmlGpuFabricInfo_v2_t, of drivers from 545 on, and _v3_t, which has `summary`.
struct FabricInfo {
  unsigned version = 0;
  std::array<unsigned char, 16> cluster{};
  Result status = 0;  ///< only where `state` is "completed"
  unsigned clique = 0;
  unsigned char state = 0;
  unsigned health = 0;
  unsigned char summary = 0;
};
inline constexpr unsigned kFabricInfo2 = 36U | 2U << 24U;
inline constexpr unsigned kFabricInfo3 = 40U | 3U << 24U;
static_assert(sizeof(FabricInfo) == 40);
inline constexpr unsigned kFabricNotSupported = 0;
inline constexpr unsigned kFabricNotStarted = 1;
inline constexpr unsigned kFabricInProgress = 2;
inline constexpr unsigned kFabricCompleted = 3;

/// nvmlFieldValue_t.
struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp = 0;
  long long latency = 0;
  int type = 0;
  Result result = 0;
  union {
    unsigned number = 0;
    unsigned long long large;
  };
};

/// Bits of what holds a GPU's clocks down.
inline constexpr unsigned long long kHwSlowdown = 0x08;
inline constexpr unsigned long long kSwThermal = 0x20;
inline constexpr unsigned long long kHwThermal = 0x40;
inline constexpr unsigned long long kPowerBrake = 0x80;

// clang-format off
// Each function and the member of Functions that it is. Those of older names and of newer drivers
// may be missing.
#define RDMABENCH_NVML_FUNCTIONS(X)                                                                         \
  X(init, nvmlInit_v2, ())                                                                                  \
  X(by_address, nvmlDeviceGetHandleByPciBusId_v2, (const char* address, Device* device))                    \
  X(fabric, nvmlDeviceGetGpuFabricInfoV, (Device device, FabricInfo* info))                                 \
  X(link, nvmlDeviceGetNvLinkState, (Device device, unsigned link, int* active))                            \
  X(ecc_mode, nvmlDeviceGetEccMode, (Device device, int* now, int* next))                                   \
  X(ecc_errors, nvmlDeviceGetTotalEccErrors, (Device device, int type, int since, unsigned long long* count)) \
  X(rows, nvmlDeviceGetRemappedRows, (Device device, unsigned* corrected, unsigned* uncorrected,            \
                                      unsigned* pending, unsigned* failed))                                 \
  X(event_reasons, nvmlDeviceGetCurrentClocksEventReasons, (Device device, unsigned long long* bits))       \
  X(throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons, (Device device, unsigned long long* bits)) \
  X(mig, nvmlDeviceGetMigMode, (Device device, unsigned* now, unsigned* next))                              \
  X(persistence, nvmlDeviceGetPersistenceMode, (Device device, int* on))                                    \
  X(clock, nvmlDeviceGetApplicationsClock, (Device device, int clock, unsigned* mhz))                       \
  X(default_clock, nvmlDeviceGetDefaultApplicationsClock, (Device device, int clock, unsigned* mhz))        \
  X(fields, nvmlDeviceGetFieldValues, (Device device, int count, FieldValue* values))
// clang-format on

struct Functions {
  template <class Find>  // (const char* name) -> void*
  explicit Functions(const Find& find) {
#define RDMABENCH_NVML_FIND(member, name, parameters) member = Symbol{find(#name)};
    RDMABENCH_NVML_FUNCTIONS(RDMABENCH_NVML_FIND)
#undef RDMABENCH_NVML_FIND
  }

// NOLINTNEXTLINE(bugprone-macro-parentheses): a list of parameters is not an expression
#define RDMABENCH_NVML_MEMBER(member, name, parameters) Result(*member) parameters = nullptr;
  RDMABENCH_NVML_FUNCTIONS(RDMABENCH_NVML_MEMBER)
#undef RDMABENCH_NVML_MEMBER
};

}  // namespace rdmabench::inline v1::health::nvml

// Our own words for NVML against NVIDIA's header: it compiles, or not.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include <cstddef>

#include "../gpu/same_abi.h"
#include "health/nvml_abi.h"

namespace rdmabench::inline v1::health {
namespace {

static_assert(nvml::kSuccess == NVML_SUCCESS);
static_assert(nvml::kNotSupported == NVML_ERROR_NOT_SUPPORTED);
static_assert(nvml::kPowerCables == NVML_ERROR_INSUFFICIENT_POWER);
static_assert(nvml::kIrqIssue == NVML_ERROR_IRQ_ISSUE);
static_assert(nvml::kLost == NVML_ERROR_GPU_IS_LOST);
static_assert(nvml::kResetRequired == NVML_ERROR_RESET_REQUIRED);
static_assert(nvml::kVersionMismatch == NVML_ERROR_LIB_RM_VERSION_MISMATCH);
static_assert(nvml::kMostLinks >= NVML_NVLINK_MAX_LINKS);
static_assert(nvml::kUncorrected == NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
static_assert(nvml::kSinceLoad == NVML_VOLATILE_ECC);
static_assert(nvml::kSmClock == NVML_CLOCK_SM);
static_assert(nvml::kHwSlowdown == nvmlClocksThrottleReasonHwSlowdown);
static_assert(nvml::kSwThermal == nvmlClocksThrottleReasonSwThermalSlowdown);
static_assert(nvml::kHwThermal == nvmlClocksThrottleReasonHwThermalSlowdown);
static_assert(nvml::kPowerBrake == nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
static_assert(nvml::kFabricNotSupported == NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
static_assert(nvml::kFabricNotStarted == NVML_GPU_FABRIC_STATE_NOT_STARTED);
static_assert(nvml::kFabricInProgress == NVML_GPU_FABRIC_STATE_IN_PROGRESS);
static_assert(nvml::kFabricCompleted == NVML_GPU_FABRIC_STATE_COMPLETED);

template <class Ours, class Theirs>
constexpr bool same_fabric(unsigned version) {
  return version != 0 && offsetof(Ours, version) == offsetof(Theirs, version) &&
         offsetof(Ours, cluster) == offsetof(Theirs, clusterUuid) &&
         offsetof(Ours, status) == offsetof(Theirs, status) &&
         offsetof(Ours, clique) == offsetof(Theirs, cliqueId) &&
         offsetof(Ours, state) == offsetof(Theirs, state) &&
         offsetof(Ours, health) == offsetof(Theirs, healthMask);
}
#ifdef nvmlGpuFabricInfo_v2
static_assert(nvml::kFabricInfo2 == nvmlGpuFabricInfo_v2);
static_assert(same_fabric<nvml::FabricInfo, nvmlGpuFabricInfo_v2_t>(2));
#endif
#ifdef nvmlGpuFabricInfo_v3
static_assert(nvml::kFabricInfo3 == nvmlGpuFabricInfo_v3);
static_assert(same_fabric<nvml::FabricInfo, nvmlGpuFabricInfo_v3_t>(3));
static_assert(offsetof(nvml::FabricInfo, summary) ==
              offsetof(nvmlGpuFabricInfo_v3_t, healthSummary));
#endif
#ifdef NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
static_assert(nvml::kRecoveryAction == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
#endif
static_assert(sizeof(nvml::FieldValue) == sizeof(nvmlFieldValue_t));
static_assert(offsetof(nvml::FieldValue, scope) == offsetof(nvmlFieldValue_t, scopeId));
static_assert(offsetof(nvml::FieldValue, latency) == offsetof(nvmlFieldValue_t, latencyUsec));
static_assert(offsetof(nvml::FieldValue, result) == offsetof(nvmlFieldValue_t, nvmlReturn));
static_assert(offsetof(nvml::FieldValue, number) == offsetof(nvmlFieldValue_t, value));

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define SAME(member, name, parameters) \
  static_assert(gpu::SameAbi<decltype(nvml::Functions::member), decltype(&::name)>::value, #name);
RDMABENCH_NVML_FUNCTIONS(SAME)

}  // namespace
}  // namespace rdmabench::inline v1::health

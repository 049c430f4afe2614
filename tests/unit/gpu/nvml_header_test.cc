// Our own words for NVML against its header: it compiles, or not.
#include <nvml.h>

#include <cstddef>

#include "gpu/nvml.h"
#include "same_abi.h"

namespace rdmabench::gpu {
namespace {

static_assert(sizeof(nvml_abi::Result) == sizeof(nvmlReturn_t));
static_assert(std::is_same_v<nvmlDevice_t, nvmlDevice_st*>);
static_assert(nvml_abi::kSuccess == NVML_SUCCESS);
static_assert(nvml_abi::kNotSupported == NVML_ERROR_NOT_SUPPORTED);
static_assert(nvml_abi::kNotFound == NVML_ERROR_NOT_FOUND);
static_assert(nvml_abi::kDriverNotLoaded == NVML_ERROR_DRIVER_NOT_LOADED);
static_assert(sizeof(nvml_abi::Bar1Memory) == sizeof(nvmlBAR1Memory_t));
static_assert(offsetof(nvml_abi::Bar1Memory, free) == offsetof(nvmlBAR1Memory_t, bar1Free));
static_assert(offsetof(nvml_abi::Bar1Memory, used) == offsetof(nvmlBAR1Memory_t, bar1Used));

#define SAME_FUNCTION(ours, theirs) \
  static_assert(SameAbi<decltype(Nvml::ours), decltype(&::theirs)>::value, #theirs)

SAME_FUNCTION(init, nvmlInit_v2);
SAME_FUNCTION(error_string, nvmlErrorString);
SAME_FUNCTION(get_handle_by_pci_bus_id, nvmlDeviceGetHandleByPciBusId_v2);
SAME_FUNCTION(get_driver_version, nvmlSystemGetDriverVersion);
SAME_FUNCTION(get_bar1_memory, nvmlDeviceGetBAR1MemoryInfo);
SAME_FUNCTION(get_pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration);
SAME_FUNCTION(get_pcie_width, nvmlDeviceGetCurrPcieLinkWidth);
SAME_FUNCTION(get_max_pcie_generation, nvmlDeviceGetMaxPcieLinkGeneration);
SAME_FUNCTION(get_max_pcie_width, nvmlDeviceGetMaxPcieLinkWidth);

}  // namespace
}  // namespace rdmabench::gpu

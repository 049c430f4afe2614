#include "gpu/cuda_error.h"

#include <fmt/format.h>

namespace rdmabench::inline v1::gpu {
namespace {

/// Kind and remedy of a result.
struct Known {
  cuda::Result result;
  Fault fault;
  const char* remedy;
};

// Source: CUDA Driver API, "Data types used by CUDA driver", CUresult.
constexpr Known kKnown[] = {
    {cuda::kOutOfMemory, Fault::failed,
     "Use less memory; nvidia-smi lists the processes that use it"},
    {cuda::kNotInitialized, Fault::unavailable,
     "Check with nvidia-smi that the NVIDIA kernel modules are loaded"},
    {cuda::kStubLibrary, Fault::unavailable,
     "This is the stub library of the CUDA toolkit: remove its folder from LD_LIBRARY_PATH"},
    {cuda::kNoDevice, Fault::unavailable,
     "nvidia-smi -L lists the GPUs; CUDA_VISIBLE_DEVICES and the options of the container restrict "
     "them"},
    {cuda::kNoBinaryForGpu, Fault::unavailable, "The compute capability must be 7.5 or newer"},
    {cuda::kInvalidPtx, Fault::unavailable, "Install an NVIDIA driver of CUDA 11.7 or newer"},
    {cuda::kJitCompilerNotFound, Fault::unavailable,
     "Install the driver's libnvidia-ptxjitcompiler.so.1 (a container needs the driver capability "
     "compute)"},
    {cuda::kUnsupportedPtxVersion, Fault::unavailable,
     "Install an NVIDIA driver of CUDA 11.7 or newer"},
    {cuda::kIllegalAddress, Fault::failed,
     "The context is lost: end the process and check dmesg for NVRM: Xid"},
    {cuda::kLaunchFailed, Fault::failed,
     "The context is lost: end the process and check dmesg for NVRM: Xid"},
    {cuda::kNotPermitted, Fault::failed, ""},
    {cuda::kNotSupported, Fault::unavailable, ""},
    {cuda::kSystemNotReady, Fault::unavailable,
     "GPUs on an NVSwitch need nvidia-fabricmanager: check systemctl status nvidia-fabricmanager"},
    {cuda::kSystemDriverMismatch, Fault::unavailable,
     "libcuda.so.1 and the NVIDIA kernel module have different versions: reboot, or reload the "
     "module"},
};

const Known* find_known(cuda::Result result) {
  for (const Known& known : kKnown) {
    if (known.result == result) return &known;
  }
  return nullptr;
}

}  // namespace

std::string result_text(const Driver& driver, cuda::Result result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.get_error_name(result, &name) != cuda::kSuccess || name == nullptr) {
    return fmt::format("CUresult {}", result);
  }
  if (driver.get_error_string(result, &text) != cuda::kSuccess || text == nullptr) {
    return fmt::format("{} ({})", name, result);
  }
  return fmt::format("{} ({}): {}", name, result, text);
}

Error cuda_error(const Driver& driver, cuda::Result result, std::string_view call,
                 std::string_view remedy) {
  const Known* known = find_known(result);
  if (remedy.empty() && known != nullptr) remedy = known->remedy;
  return Error(
      known != nullptr ? known->fault : Fault::failed,
      fmt::format("{}: {}", call, result_text(driver, result)), remedy, 0,
      {.library = "libcuda", .call = std::string(call.substr(0, call.find_first_of("( ")))});
}

void check(const Driver& driver, cuda::Result result, std::string_view call,
           std::string_view remedy) {
  if (result != cuda::kSuccess) throw cuda_error(driver, result, call, remedy);
}

}  // namespace rdmabench::inline v1::gpu

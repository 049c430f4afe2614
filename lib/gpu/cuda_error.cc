#include "gpu/cuda_error.h"

#include <fmt/format.h>

namespace rdmabench::gpu {
namespace {

/// What is known of a result besides the driver's words.
struct Known {
  cuda::Result result;
  Fault fault;
  const char* remedy;
};

// Source: CUDA Driver API, "Data types used by CUDA driver", CUresult.
constexpr Known kKnown[] = {
    {cuda::kOutOfMemory, Fault::failed,
     "Ask for less, or look with nvidia-smi at who holds the memory"},
    {cuda::kNotInitialized, Fault::unavailable,
     "Look with nvidia-smi whether the NVIDIA kernel modules are loaded"},
    {cuda::kStubLibrary, Fault::unavailable,
     "This is the toolkit's stub to link with: take its folder out of LD_LIBRARY_PATH"},
    {cuda::kNoDevice, Fault::unavailable,
     "nvidia-smi -L lists the GPUs; CUDA_VISIBLE_DEVICES hides those that it does not name, and a "
     "container has only those that it was started with"},
    {cuda::kNoBinaryForGpu, Fault::unavailable,
     "The GPU's compute capability must be 7.5 or newer"},
    {cuda::kInvalidPtx, Fault::unavailable, "Install a newer NVIDIA driver, of CUDA 11.7 at least"},
    {cuda::kJitCompilerNotFound, Fault::unavailable,
     "Install the driver's libnvidia-ptxjitcompiler.so.1 (the container needs the capability "
     "compute)"},
    {cuda::kUnsupportedPtxVersion, Fault::unavailable,
     "Install a newer NVIDIA driver, of CUDA 11.7 at least"},
    {cuda::kIllegalAddress, Fault::failed,
     "The context is lost: end the process, and look into dmesg for NVRM: Xid"},
    {cuda::kLaunchFailed, Fault::failed,
     "The context is lost: end the process, and look into dmesg for NVRM: Xid"},
    {cuda::kNotPermitted, Fault::failed, ""},
    {cuda::kNotSupported, Fault::unavailable, ""},
    {cuda::kSystemNotReady, Fault::unavailable,
     "GPUs on an NVSwitch need nvidia-fabricmanager: systemctl status nvidia-fabricmanager"},
    {cuda::kSystemDriverMismatch, Fault::unavailable,
     "libcuda.so.1 and the NVIDIA kernel module are of different versions: reboot, or reload the "
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
  return Error(known != nullptr ? known->fault : Fault::failed,
               fmt::format("{}: {}", call, result_text(driver, result)), remedy);
}

void check(const Driver& driver, cuda::Result result, std::string_view call,
           std::string_view remedy) {
  if (result != cuda::kSuccess) throw cuda_error(driver, result, call, remedy);
}

}  // namespace rdmabench::gpu

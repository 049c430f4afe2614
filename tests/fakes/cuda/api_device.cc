// Devices, contexts and errors of the fake driver.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "fake_cuda.h"
#include "memory.h"
#include "stream.h"
#include "work_objects.h"
#include "world.h"

namespace fake_cuda {
namespace {

constexpr int kMostDevices = 8;

struct Contexts {
  std::mutex mutex;
  int retained[kMostDevices] = {};
  unsigned flags[kMostDevices] = {};
};

Contexts& contexts() {
  static Contexts& all = *new Contexts;
  return all;
}

thread_local std::vector<CUctx_st*> stack;

/// A context's handle is its device's number plus one; never dereferenced.
CUctx_st* handle_of(int device) {
  return reinterpret_cast<CUctx_st*>(static_cast<std::uintptr_t>(device) + 1);
}

int device_of(CUctx_st* context) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
}

bool is_device(int device) {
  return device >= 0 && device < World::get().controls().devices;
}

struct Name {
  Result result;
  const char* name;
  const char* text;
};

constexpr Name kNames[] = {
    {abi::kSuccess, "CUDA_SUCCESS", "no error"},
    {abi::kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {abi::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {abi::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {abi::kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {abi::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {abi::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {abi::kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {abi::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {abi::kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {abi::kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {abi::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {abi::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {abi::kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {abi::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {abi::kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {abi::kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {abi::kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
};

const Name* find_name(Result result) {
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const Name& name) { return name.result == result; });
  return found == std::end(kNames) ? nullptr : found;
}

int attribute_of(const Controls& controls, int attribute) {
  switch (attribute) {
    case abi::kMultiprocessorCount:
      return 2;
    case abi::kComputeMode:
      return controls.compute_mode;
    case abi::kComputeCapabilityMajor:
      return 9;
    case abi::kComputeCapabilityMinor:
      return 0;
    case abi::kUsesHostPageTables:
      return controls.coherent ? 1 : 0;
    case abi::kVmmSupported:
      return controls.vmm ? 1 : 0;
    case abi::kVmmRdmaSupported:
      return controls.vmm && controls.vmm_rdma ? 1 : 0;
    case abi::kFlushWritesOptions:
      return controls.flush;
    case abi::kWritesOrdering:
      return controls.ordering;
    case abi::kDmaBufSupported:
      return controls.rdma && controls.dma_buf ? 1 : 0;
    default:
      return -1;
  }
}

}  // namespace

int current_device() {
  return stack.empty() || stack.back() == nullptr ? -1 : device_of(stack.back());
}

int retained_contexts() {
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  int count = 0;
  for (const int retained : all.retained) count += retained > 0 ? 1 : 0;
  return count;
}

void reset_contexts() {
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  std::fill(std::begin(all.retained), std::end(all.retained), 0);
  std::fill(std::begin(all.flags), std::end(all.flags), 0U);
  stack.clear();
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

Result cuInit(unsigned) {
  FAKE_CUDA_ENTER(cuInit);
  const Controls controls = World::get().controls();
  if (controls.init != abi::kSuccess) return controls.init;
  return controls.devices == 0 ? abi::kNoDevice : abi::kSuccess;
}

Result cuDriverGetVersion(int* version) {
  FAKE_CUDA_ENTER(cuDriverGetVersion);
  *version = World::get().controls().driver;
  return abi::kSuccess;
}

Result cuGetErrorName(Result error, const char** text) {
  const Name* name = find_name(error);
  *text = name != nullptr ? name->name : nullptr;
  return name != nullptr ? abi::kSuccess : abi::kInvalidValue;
}

Result cuGetErrorString(Result error, const char** text) {
  const Name* name = find_name(error);
  *text = name != nullptr ? name->text : nullptr;
  return name != nullptr ? abi::kSuccess : abi::kInvalidValue;
}

Result cuDeviceGetCount(int* count) {
  FAKE_CUDA_ENTER(cuDeviceGetCount);
  *count = World::get().controls().devices;
  return abi::kSuccess;
}

Result cuDeviceGet(abi::Device* device, int ordinal) {
  FAKE_CUDA_ENTER(cuDeviceGet);
  if (!is_device(ordinal)) return abi::kInvalidDevice;
  *device = ordinal;
  return abi::kSuccess;
}

Result cuDeviceGetName(char* name, int length, abi::Device device) {
  FAKE_CUDA_ENTER(cuDeviceGetName);
  if (!is_device(device)) return abi::kInvalidDevice;
  std::snprintf(name, static_cast<std::size_t>(length), "%s", World::get().controls().name.c_str());
  return abi::kSuccess;
}

Result cuDeviceGetUuid_v2(abi::Uuid* uuid, abi::Device device) {
  FAKE_CUDA_ENTER(cuDeviceGetUuid_v2);
  if (!is_device(device)) return abi::kInvalidDevice;
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(0xa0 + i);
  uuid->bytes[0] = static_cast<char>(0xf0 + device);
  return abi::kSuccess;
}

Result cuDeviceTotalMem_v2(std::size_t* bytes, abi::Device device) {
  FAKE_CUDA_ENTER(cuDeviceTotalMem_v2);
  if (!is_device(device)) return abi::kInvalidDevice;
  *bytes = World::get().controls().memory;
  return abi::kSuccess;
}

Result cuDeviceGetAttribute(int* value, int attribute, abi::Device device) {
  FAKE_CUDA_ENTER(cuDeviceGetAttribute);
  if (!is_device(device)) return abi::kInvalidDevice;
  *value = attribute_of(World::get().controls(), attribute);
  return *value < 0 ? abi::kInvalidValue : abi::kSuccess;
}

Result cuDeviceGetPCIBusId(char* address, int length, abi::Device device) {
  FAKE_CUDA_ENTER(cuDeviceGetPCIBusId);
  if (!is_device(device)) return abi::kInvalidDevice;
  std::string text = World::get().controls().pci[static_cast<std::size_t>(device)];
  // As the driver writes it.
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
  std::snprintf(address, static_cast<std::size_t>(length), "%s", text.c_str());
  return abi::kSuccess;
}

Result cuDevicePrimaryCtxRetain(CUctx_st** context, abi::Device device) {
  FAKE_CUDA_ENTER(cuDevicePrimaryCtxRetain);
  if (!is_device(device)) return abi::kInvalidDevice;
  const std::lock_guard lock(contexts().mutex);
  ++contexts().retained[device];
  *context = handle_of(device);
  return abi::kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(abi::Device device) {
  FAKE_CUDA_ENTER(cuDevicePrimaryCtxRelease_v2);
  const std::lock_guard lock(contexts().mutex);
  if (contexts().retained[device] == 0) return abi::kInvalidContext;
  --contexts().retained[device];
  return abi::kSuccess;
}

Result cuCtxPushCurrent_v2(CUctx_st* context) {
  FAKE_CUDA_ENTER(cuCtxPushCurrent_v2);
  stack.push_back(context);
  return abi::kSuccess;
}

Result cuCtxPopCurrent_v2(CUctx_st** context) {
  FAKE_CUDA_ENTER(cuCtxPopCurrent_v2);
  if (stack.empty()) return abi::kInvalidContext;
  *context = stack.back();
  stack.pop_back();
  return abi::kSuccess;
}

Result cuCtxSetCurrent(CUctx_st* context) {
  FAKE_CUDA_ENTER(cuCtxSetCurrent);
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(context);
  return abi::kSuccess;
}

Result cuCtxGetFlags(unsigned* flags) {
  FAKE_CUDA_ENTER_CONTEXT(cuCtxGetFlags);
  const std::lock_guard lock(contexts().mutex);
  *flags = contexts().flags[current_device()];
  return abi::kSuccess;
}

Result cuCtxSetFlags(unsigned flags) {
  FAKE_CUDA_ENTER_CONTEXT(cuCtxSetFlags);
  if (World::get().controls().driver < 12010) return abi::kNotSupported;
  const std::lock_guard lock(contexts().mutex);
  contexts().flags[current_device()] = flags;
  return abi::kSuccess;
}

Result cuFlushGPUDirectRDMAWrites(int target, int scope) {
  FAKE_CUDA_ENTER_CONTEXT(cuFlushGPUDirectRDMAWrites);
  if (target != abi::kFlushTargetCurrentContext ||
      (scope != abi::kFlushToOwner && scope != abi::kFlushToAllDevices)) {
    return abi::kInvalidValue;
  }
  return (World::get().controls().flush & 1) != 0 ? abi::kSuccess : abi::kNotSupported;
}

void fake_cuda_reset(void) {
  Streams::get().reset();
  reset_work_objects();
  Memory::get().reset();
  reset_contexts();
  World::get().reload();
}

int fake_cuda_calls(const char* name) {
  return World::get().calls(name);
}

long long fake_cuda_cost_us(void) {
  return World::get().cost_us();
}

int fake_cuda_alive(const char* kind) {
  const std::string of = kind;
  if (of == "context") return retained_contexts();
  if (of == "stream") return Streams::get().alive();
  if (of == "allocation" || of == "vmm" || of == "reservation" || of == "host") {
    return Memory::get().alive(of);
  }
  return alive_work_objects(of);
}
}

// gpu: the CUDA driver, loaded at run time: devices, memory, streams, kernels, and access
// by NICs. The build needs no toolkit, and programs that do not use a GPU need no driver.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/symbol.h"
#include "gpu/cuda_abi.h"

namespace rdmabench::inline v1::gpu {

/// Finds a function of a library by its exact name; null if there is none.
using FindFunction = std::function<void*(const char* name)>;

/// Finds the functions of a Driver as its members are made, and notes which it lacks.
class Functions {
 public:
  explicit Functions(FindFunction find) : find_(std::move(find)) {}

  const std::vector<std::string>& missing() const { return missing_; }

 protected:
  Symbol find(const char* name) const { return {find_(name)}; }
  Symbol need(const char* name) { return either(name, name); }
  Symbol either(const char* first, const char* second) {
    Symbol found = find(first);
    if (found.address == nullptr) found = find(second);
    if (found.address == nullptr) missing_.emplace_back(second);
    return found;
  }

 private:
  FindFunction find_;
  std::vector<std::string> missing_;
};

/// The functions of libcuda.so.1. Those below "optional" are null if the driver is older. Source:
/// CUDA Driver API.
struct Driver : Functions {
  using Functions::Functions;

  cuda::Result (*init)(unsigned flags) = need("cuInit");
  cuda::Result (*driver_get_version)(int* version) = need("cuDriverGetVersion");
  cuda::Result (*get_error_name)(cuda::Result error, const char** text) = need("cuGetErrorName");
  cuda::Result (*get_error_string)(cuda::Result error,
                                   const char** text) = need("cuGetErrorString");
  cuda::Result (*device_get_count)(int* count) = need("cuDeviceGetCount");
  cuda::Result (*device_get)(cuda::Device* device, int ordinal) = need("cuDeviceGet");
  cuda::Result (*device_get_name)(char* name, int length,
                                  cuda::Device device) = need("cuDeviceGetName");
  // Version 2 distinguishes the instances of a partitioned GPU (MIG).
  cuda::Result (*device_get_uuid)(cuda::Uuid* uuid,
                                  cuda::Device device) = either("cuDeviceGetUuid_v2",
                                                                "cuDeviceGetUuid");
  cuda::Result (*device_total_mem)(std::size_t* bytes,
                                   cuda::Device device) = need("cuDeviceTotalMem_v2");
  cuda::Result (*device_get_attribute)(int* value, int attribute,
                                       cuda::Device device) = need("cuDeviceGetAttribute");
  cuda::Result (*device_get_pci_bus_id)(char* address, int length,
                                        cuda::Device device) = need("cuDeviceGetPCIBusId");
  cuda::Result (*primary_ctx_retain)(CUctx_st** context,
                                     cuda::Device device) = need("cuDevicePrimaryCtxRetain");
  cuda::Result (*primary_ctx_release)(cuda::Device device) = need("cuDevicePrimaryCtxRelease_v2");
  cuda::Result (*ctx_push_current)(CUctx_st* context) = need("cuCtxPushCurrent_v2");
  cuda::Result (*ctx_pop_current)(CUctx_st** context) = need("cuCtxPopCurrent_v2");
  cuda::Result (*ctx_set_current)(CUctx_st* context) = need("cuCtxSetCurrent");
  cuda::Result (*mem_alloc)(DevicePointer* pointer, std::size_t bytes) = need("cuMemAlloc_v2");
  cuda::Result (*mem_free)(DevicePointer pointer) = need("cuMemFree_v2");
  cuda::Result (*mem_host_alloc)(void** pointer, std::size_t bytes,
                                 unsigned flags) = need("cuMemHostAlloc");
  cuda::Result (*mem_free_host)(void* pointer) = need("cuMemFreeHost");
  cuda::Result (*pointer_set_attribute)(const void* value, int attribute,
                                        DevicePointer pointer) = need("cuPointerSetAttribute");
  cuda::Result (*pointer_get_attribute)(void* value, int attribute,
                                        DevicePointer pointer) = need("cuPointerGetAttribute");
  cuda::Result (*memcpy_h_to_d_async)(DevicePointer to, const void* from, std::size_t bytes,
                                      CUstream_st* stream) = need("cuMemcpyHtoDAsync_v2");
  cuda::Result (*memcpy_d_to_h_async)(void* to, DevicePointer from, std::size_t bytes,
                                      CUstream_st* stream) = need("cuMemcpyDtoHAsync_v2");
  cuda::Result (*memcpy_d_to_d_async)(DevicePointer to, DevicePointer from, std::size_t bytes,
                                      CUstream_st* stream) = need("cuMemcpyDtoDAsync_v2");
  cuda::Result (*memset_d8_async)(DevicePointer to, unsigned char value, std::size_t bytes,
                                  CUstream_st* stream) = need("cuMemsetD8Async");
  cuda::Result (*stream_create)(CUstream_st** stream, unsigned flags) = need("cuStreamCreate");
  cuda::Result (*stream_destroy)(CUstream_st* stream) = need("cuStreamDestroy_v2");
  cuda::Result (*stream_query)(CUstream_st* stream) = need("cuStreamQuery");
  cuda::Result (*module_load_data)(CUmod_st** module, const void* image) = need("cuModuleLoadData");
  cuda::Result (*module_get_function)(CUfunc_st** function, CUmod_st* module,
                                      const char* name) = need("cuModuleGetFunction");
  cuda::Result (*module_unload)(CUmod_st* module) = need("cuModuleUnload");
  cuda::Result (*launch_kernel)(CUfunc_st* function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned shared_bytes, CUstream_st* stream,
                                void** parameters, void** extra) = need("cuLaunchKernel");

  // Optional: graphs (10.0, 11.4), VMM (10.2), flush (11.3), dma-buf (11.7), context flags (12.1).
  cuda::Result (*stream_begin_capture)(CUstream_st* stream,
                                       int mode) = find("cuStreamBeginCapture_v2");
  cuda::Result (*stream_end_capture)(CUstream_st* stream,
                                     CUgraph_st** graph) = find("cuStreamEndCapture");
  cuda::Result (*graph_instantiate)(CUgraphExec_st** executable, CUgraph_st* graph,
                                    unsigned long long flags) = find("cuGraphInstantiateWithFlags");
  cuda::Result (*graph_launch)(CUgraphExec_st* executable,
                               CUstream_st* stream) = find("cuGraphLaunch");
  cuda::Result (*graph_exec_destroy)(CUgraphExec_st* executable) = find("cuGraphExecDestroy");
  cuda::Result (*graph_destroy)(CUgraph_st* graph) = find("cuGraphDestroy");
  cuda::Result (*mem_get_allocation_granularity)(
      std::size_t* bytes, const cuda::AllocationProperties* properties,
      int option) = find("cuMemGetAllocationGranularity");
  cuda::Result (*mem_create)(cuda::MemoryHandle* handle, std::size_t bytes,
                             const cuda::AllocationProperties* properties,
                             unsigned long long flags) = find("cuMemCreate");
  cuda::Result (*mem_release)(cuda::MemoryHandle handle) = find("cuMemRelease");
  cuda::Result (*mem_address_reserve)(DevicePointer* pointer, std::size_t bytes,
                                      std::size_t alignment, DevicePointer wanted,
                                      unsigned long long flags) = find("cuMemAddressReserve");
  cuda::Result (*mem_address_free)(DevicePointer pointer,
                                   std::size_t bytes) = find("cuMemAddressFree");
  cuda::Result (*mem_map)(DevicePointer pointer, std::size_t bytes, std::size_t offset,
                          cuda::MemoryHandle handle, unsigned long long flags) = find("cuMemMap");
  cuda::Result (*mem_unmap)(DevicePointer pointer, std::size_t bytes) = find("cuMemUnmap");
  cuda::Result (*mem_set_access)(DevicePointer pointer, std::size_t bytes,
                                 const cuda::AccessDescription* access,
                                 std::size_t count) = find("cuMemSetAccess");
  cuda::Result (*flush_gpu_direct_rdma_writes)(int target,
                                               int scope) = find("cuFlushGPUDirectRDMAWrites");
  cuda::Result (*mem_get_handle_for_address_range)(
      void* handle, DevicePointer pointer, std::size_t bytes, int type,
      unsigned long long flags) = find("cuMemGetHandleForAddressRange");
  cuda::Result (*ctx_get_flags)(unsigned* flags) = find("cuCtxGetFlags");
  cuda::Result (*ctx_set_flags)(unsigned flags) = find("cuCtxSetFlags");

  int version = 0;   ///< the CUDA version of the driver: 12080 is 12.8
  std::string path;  ///< the loaded file
};

/// Fills the table and initialises the driver. `path` is named in errors. Throws Error(unavailable)
/// with the missing functions, or if the driver cannot be initialised: no device, no kernel module,
/// a library of another version.
Driver load_driver(const FindFunction& find, std::string_view path);

/// The driver of this process, loaded by the first successful call and never unloaded. Throws
/// Error(unavailable) with the searched folders and the error of the linker or of the driver.
/// Thread-safe.
const Driver& driver();

/// "12.8" of 12080.
std::string version_text(int version);

}  // namespace rdmabench::inline v1::gpu

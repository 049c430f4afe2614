// gpu: the CUDA driver, loaded at run time: devices, memory, streams, kernels, and access
// by NICs. The build needs no toolkit, and programs that do not use a GPU need no driver.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "gpu/cuda_abi.h"

namespace rdmabench::gpu {

/// The functions of libcuda.so.1. Those below "optional" are null if the driver is older. Source:
/// CUDA Driver API.
struct Driver {
  cuda::Result (*init)(unsigned flags);
  cuda::Result (*driver_get_version)(int* version);
  cuda::Result (*get_error_name)(cuda::Result error, const char** text);
  cuda::Result (*get_error_string)(cuda::Result error, const char** text);
  cuda::Result (*device_get_count)(int* count);
  cuda::Result (*device_get)(cuda::Device* device, int ordinal);
  cuda::Result (*device_get_name)(char* name, int length, cuda::Device device);
  cuda::Result (*device_get_uuid)(cuda::Uuid* uuid, cuda::Device device);
  cuda::Result (*device_total_mem)(std::size_t* bytes, cuda::Device device);
  cuda::Result (*device_get_attribute)(int* value, int attribute, cuda::Device device);
  cuda::Result (*device_get_pci_bus_id)(char* address, int length, cuda::Device device);
  cuda::Result (*primary_ctx_retain)(CUctx_st** context, cuda::Device device);
  cuda::Result (*primary_ctx_release)(cuda::Device device);
  cuda::Result (*ctx_push_current)(CUctx_st* context);
  cuda::Result (*ctx_pop_current)(CUctx_st** context);
  cuda::Result (*ctx_set_current)(CUctx_st* context);
  cuda::Result (*mem_alloc)(DevicePointer* pointer, std::size_t bytes);
  cuda::Result (*mem_free)(DevicePointer pointer);
  cuda::Result (*mem_host_alloc)(void** pointer, std::size_t bytes, unsigned flags);
  cuda::Result (*mem_free_host)(void* pointer);
  cuda::Result (*pointer_set_attribute)(const void* value, int attribute, DevicePointer pointer);
  cuda::Result (*pointer_get_attribute)(void* value, int attribute, DevicePointer pointer);
  cuda::Result (*memcpy_h_to_d_async)(DevicePointer to, const void* from, std::size_t bytes,
                                      CUstream_st* stream);
  cuda::Result (*memcpy_d_to_h_async)(void* to, DevicePointer from, std::size_t bytes,
                                      CUstream_st* stream);
  cuda::Result (*memcpy_d_to_d_async)(DevicePointer to, DevicePointer from, std::size_t bytes,
                                      CUstream_st* stream);
  cuda::Result (*memset_d8_async)(DevicePointer to, unsigned char value, std::size_t bytes,
                                  CUstream_st* stream);
  cuda::Result (*stream_create)(CUstream_st** stream, unsigned flags);
  cuda::Result (*stream_destroy)(CUstream_st* stream);
  cuda::Result (*stream_query)(CUstream_st* stream);
  cuda::Result (*module_load_data)(CUmod_st** module, const void* image);
  cuda::Result (*module_get_function)(CUfunc_st** function, CUmod_st* module, const char* name);
  cuda::Result (*module_unload)(CUmod_st* module);
  cuda::Result (*launch_kernel)(CUfunc_st* function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned shared_bytes, CUstream_st* stream,
                                void** parameters, void** extra);

  // Optional: graphs (10.0, 11.4), VMM (10.2), flush (11.3), dma-buf (11.7), context flags (12.1).
  cuda::Result (*stream_begin_capture)(CUstream_st* stream, int mode);
  cuda::Result (*stream_end_capture)(CUstream_st* stream, CUgraph_st** graph);
  cuda::Result (*graph_instantiate)(CUgraphExec_st** executable, CUgraph_st* graph,
                                    unsigned long long flags);
  cuda::Result (*graph_launch)(CUgraphExec_st* executable, CUstream_st* stream);
  cuda::Result (*graph_exec_destroy)(CUgraphExec_st* executable);
  cuda::Result (*graph_destroy)(CUgraph_st* graph);
  cuda::Result (*mem_get_allocation_granularity)(std::size_t* bytes,
                                                 const cuda::AllocationProperties* properties,
                                                 int option);
  cuda::Result (*mem_create)(cuda::MemoryHandle* handle, std::size_t bytes,
                             const cuda::AllocationProperties* properties,
                             unsigned long long flags);
  cuda::Result (*mem_release)(cuda::MemoryHandle handle);
  cuda::Result (*mem_address_reserve)(DevicePointer* pointer, std::size_t bytes,
                                      std::size_t alignment, DevicePointer wanted,
                                      unsigned long long flags);
  cuda::Result (*mem_address_free)(DevicePointer pointer, std::size_t bytes);
  cuda::Result (*mem_map)(DevicePointer pointer, std::size_t bytes, std::size_t offset,
                          cuda::MemoryHandle handle, unsigned long long flags);
  cuda::Result (*mem_unmap)(DevicePointer pointer, std::size_t bytes);
  cuda::Result (*mem_set_access)(DevicePointer pointer, std::size_t bytes,
                                 const cuda::AccessDescription* access, std::size_t count);
  cuda::Result (*flush_gpu_direct_rdma_writes)(int target, int scope);
  cuda::Result (*mem_get_handle_for_address_range)(void* handle, DevicePointer pointer,
                                                   std::size_t bytes, int type,
                                                   unsigned long long flags);
  cuda::Result (*ctx_get_flags)(unsigned* flags);
  cuda::Result (*ctx_set_flags)(unsigned flags);

  int version;       ///< the CUDA version of the driver: 12080 is 12.8
  std::string path;  ///< the loaded file
};

/// Finds a function of a library by its exact name; null if there is none.
using FindFunction = std::function<void*(const char* name)>;

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

}  // namespace rdmabench::gpu

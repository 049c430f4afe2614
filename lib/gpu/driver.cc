#include "gpu/driver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "gpu/cuda_error.h"
#include "loaded/library.h"
#include "rdmabench/base/error.h"

namespace rdmabench::gpu {
namespace {

/// Fills a table and collects the missing functions.
class Loader {
 public:
  explicit Loader(const FindFunction& find) : find_(find) {}

  template <class Function>
  void optional(Function& function, const char* name) {
    function = reinterpret_cast<Function>(find_(name));
  }

  template <class Function>
  void required(Function& function, const char* name) {
    optional(function, name);
    if (function == nullptr) missing_.emplace_back(name);
  }

  const std::vector<std::string>& missing() const { return missing_; }

 private:
  const FindFunction& find_;
  std::vector<std::string> missing_;
};

void load_basics(Loader& loader, Driver& table) {
  loader.required(table.init, "cuInit");
  loader.required(table.driver_get_version, "cuDriverGetVersion");
  loader.required(table.get_error_name, "cuGetErrorName");
  loader.required(table.get_error_string, "cuGetErrorString");
  loader.required(table.device_get_count, "cuDeviceGetCount");
  loader.required(table.device_get, "cuDeviceGet");
  loader.required(table.device_get_name, "cuDeviceGetName");
  // Version 2 distinguishes the instances of a partitioned GPU (MIG).
  loader.optional(table.device_get_uuid, "cuDeviceGetUuid_v2");
  if (table.device_get_uuid == nullptr) loader.required(table.device_get_uuid, "cuDeviceGetUuid");
  loader.required(table.device_total_mem, "cuDeviceTotalMem_v2");
  loader.required(table.device_get_attribute, "cuDeviceGetAttribute");
  loader.required(table.device_get_pci_bus_id, "cuDeviceGetPCIBusId");
  loader.required(table.primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  loader.required(table.primary_ctx_release, "cuDevicePrimaryCtxRelease_v2");
  loader.required(table.ctx_push_current, "cuCtxPushCurrent_v2");
  loader.required(table.ctx_pop_current, "cuCtxPopCurrent_v2");
  loader.required(table.ctx_set_current, "cuCtxSetCurrent");
}

void load_memory(Loader& loader, Driver& table) {
  loader.required(table.mem_alloc, "cuMemAlloc_v2");
  loader.required(table.mem_free, "cuMemFree_v2");
  loader.required(table.mem_host_alloc, "cuMemHostAlloc");
  loader.required(table.mem_free_host, "cuMemFreeHost");
  loader.required(table.pointer_set_attribute, "cuPointerSetAttribute");
  loader.required(table.pointer_get_attribute, "cuPointerGetAttribute");
  loader.required(table.memcpy_h_to_d_async, "cuMemcpyHtoDAsync_v2");
  loader.required(table.memcpy_d_to_h_async, "cuMemcpyDtoHAsync_v2");
  loader.required(table.memcpy_d_to_d_async, "cuMemcpyDtoDAsync_v2");
  loader.required(table.memset_d8_async, "cuMemsetD8Async");
}

void load_work(Loader& loader, Driver& table) {
  loader.required(table.stream_create, "cuStreamCreate");
  loader.required(table.stream_destroy, "cuStreamDestroy_v2");
  loader.required(table.stream_query, "cuStreamQuery");
  loader.required(table.module_load_data, "cuModuleLoadData");
  loader.required(table.module_get_function, "cuModuleGetFunction");
  loader.required(table.module_unload, "cuModuleUnload");
  loader.required(table.launch_kernel, "cuLaunchKernel");
}

void load_optional(Loader& loader, Driver& table) {
  loader.optional(table.stream_begin_capture, "cuStreamBeginCapture_v2");
  loader.optional(table.stream_end_capture, "cuStreamEndCapture");
  loader.optional(table.graph_instantiate, "cuGraphInstantiateWithFlags");
  loader.optional(table.graph_launch, "cuGraphLaunch");
  loader.optional(table.graph_exec_destroy, "cuGraphExecDestroy");
  loader.optional(table.graph_destroy, "cuGraphDestroy");
  loader.optional(table.mem_get_allocation_granularity, "cuMemGetAllocationGranularity");
  loader.optional(table.mem_create, "cuMemCreate");
  loader.optional(table.mem_release, "cuMemRelease");
  loader.optional(table.mem_address_reserve, "cuMemAddressReserve");
  loader.optional(table.mem_address_free, "cuMemAddressFree");
  loader.optional(table.mem_map, "cuMemMap");
  loader.optional(table.mem_unmap, "cuMemUnmap");
  loader.optional(table.mem_set_access, "cuMemSetAccess");
  loader.optional(table.flush_gpu_direct_rdma_writes, "cuFlushGPUDirectRDMAWrites");
  loader.optional(table.mem_get_handle_for_address_range, "cuMemGetHandleForAddressRange");
  loader.optional(table.ctx_get_flags, "cuCtxGetFlags");
  loader.optional(table.ctx_set_flags, "cuCtxSetFlags");
}

Driver load_libcuda() {
  const std::string& file = loaded::cuda.require().file;
  return load_driver([](const char* name) { return loaded::cuda.find(name); }, file);
}

}  // namespace

Driver load_driver(const FindFunction& find, std::string_view path) {
  Driver table{};
  table.path = path;
  Loader loader(find);
  load_basics(loader, table);
  load_memory(loader, table);
  load_work(loader, table);
  load_optional(loader, table);
  if (!loader.missing().empty()) {
    throw Error(Fault::unavailable,
                fmt::format("the CUDA driver {} lacks {}", path, fmt::join(loader.missing(), ", ")),
                "Install an NVIDIA driver of CUDA 11.7 or newer");
  }
  check(table, table.init(0), fmt::format("cuInit() of {}", path));
  check(table, table.driver_get_version(&table.version), "cuDriverGetVersion()");
  return table;
}

const Driver& driver() {
  // After an exception the next call tries again. Never unloaded, because the driver has threads.
  static const Driver table = load_libcuda();
  return table;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace rdmabench::gpu

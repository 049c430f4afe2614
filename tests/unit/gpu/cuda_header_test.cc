// Our own words for the CUDA driver's interface against the toolkit's header: it compiles, or not.
#include <cuda.h>

#include <cstddef>

#include "gpu/driver.h"
#include "same_abi.h"

namespace rdmabench::inline v1::gpu {
namespace {

static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(sizeof(cuda::Result) == sizeof(CUresult));
static_assert(sizeof(cuda::Device) == sizeof(CUdevice));
static_assert(sizeof(cuda::MemoryHandle) == sizeof(CUmemGenericAllocationHandle));
static_assert(std::is_same_v<CUstream, CUstream_st*>);
static_assert(std::is_same_v<CUcontext, CUctx_st*>);
static_assert(std::is_same_v<CUfunction, CUfunc_st*>);
static_assert(std::is_same_v<CUmodule, CUmod_st*>);
static_assert(std::is_same_v<CUgraph, CUgraph_st*>);
static_assert(std::is_same_v<CUgraphExec, CUgraphExec_st*>);

static_assert(cuda::kSuccess == CUDA_SUCCESS);
static_assert(cuda::kInvalidValue == CUDA_ERROR_INVALID_VALUE);
static_assert(cuda::kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(cuda::kNotInitialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(cuda::kStubLibrary == CUDA_ERROR_STUB_LIBRARY);
static_assert(cuda::kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(cuda::kInvalidDevice == CUDA_ERROR_INVALID_DEVICE);
static_assert(cuda::kInvalidContext == CUDA_ERROR_INVALID_CONTEXT);
static_assert(cuda::kNoBinaryForGpu == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(cuda::kInvalidPtx == CUDA_ERROR_INVALID_PTX);
static_assert(cuda::kJitCompilerNotFound == CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
static_assert(cuda::kUnsupportedPtxVersion == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
static_assert(cuda::kInvalidHandle == CUDA_ERROR_INVALID_HANDLE);
static_assert(cuda::kNotFound == CUDA_ERROR_NOT_FOUND);
static_assert(cuda::kNotReady == CUDA_ERROR_NOT_READY);
static_assert(cuda::kIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(cuda::kLaunchFailed == CUDA_ERROR_LAUNCH_FAILED);
static_assert(cuda::kNotPermitted == CUDA_ERROR_NOT_PERMITTED);
static_assert(cuda::kNotSupported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(cuda::kSystemNotReady == CUDA_ERROR_SYSTEM_NOT_READY);
static_assert(cuda::kSystemDriverMismatch == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
static_assert(cuda::kCaptureUnsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
static_assert(cuda::kCaptureInvalidated == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
static_assert(cuda::kUnknown == CUDA_ERROR_UNKNOWN);

constexpr bool same(int ours, int theirs) {
  return ours == theirs;
}

static_assert(same(cuda::kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(same(cuda::kComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE));
static_assert(same(cuda::kExclusiveProcess, CU_COMPUTEMODE_EXCLUSIVE_PROCESS));
static_assert(same(cuda::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(same(cuda::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(cuda::kUsesHostPageTables,
                   CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES));
static_assert(same(cuda::kVmmSupported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED));
static_assert(same(cuda::kVmmRdmaSupported,
                   CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED));
static_assert(same(cuda::kFlushWritesOptions,
                   CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS));
static_assert(same(cuda::kWritesOrdering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING));
static_assert(same(cuda::kPointerSyncMemops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS));
static_assert(same(cuda::kPointerGpuDirectRdmaCapable,
                   CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE));
static_assert(same(cuda::kFlushOptionHost, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST));
static_assert(same(cuda::kFlushTargetCurrentContext,
                   CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX));
static_assert(same(cuda::kFlushToOwner, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
static_assert(same(cuda::kFlushToAllDevices, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES));
static_assert(cuda::kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(cuda::kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(same(cuda::kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
static_assert(same(cuda::kAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED));
static_assert(same(cuda::kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(same(cuda::kAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
static_assert(same(cuda::kGranularityMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
#if CUDA_VERSION >= 11070
static_assert(same(cuda::kDmaBufSupported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED));
static_assert(same(cuda::kRangeHandleDmaBuf, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD));
#endif
#if CUDA_VERSION >= 12010
static_assert(cuda::kContextSyncMemops == CU_CTX_SYNC_MEMOPS);
#endif
#if CUDA_VERSION >= 12080
static_assert(cuda::kRangeFlagPcie == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE);
#endif

static_assert(sizeof(cuda::Uuid) == sizeof(CUuuid));
static_assert(sizeof(cuda::Location) == sizeof(CUmemLocation));
static_assert(offsetof(cuda::Location, id) == offsetof(CUmemLocation, id));
static_assert(sizeof(cuda::AccessDescription) == sizeof(CUmemAccessDesc));
static_assert(offsetof(cuda::AccessDescription, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(sizeof(cuda::AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(cuda::AllocationProperties, location) ==
              offsetof(CUmemAllocationProp, location));
static_assert(offsetof(cuda::AllocationProperties, windows_metadata) ==
              offsetof(CUmemAllocationProp, win32HandleMetaData));
static_assert(offsetof(cuda::AllocationProperties, flags) ==
              offsetof(CUmemAllocationProp, allocFlags));
static_assert(offsetof(cuda::AllocationProperties, flags.gpu_direct_rdma_capable) ==
              offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable));

// What is different is seen.
static_assert(!SameAbi<int (*)(int, int*), int (*)(long, int*)>::value);
static_assert(!SameAbi<int (*)(int), int (*)(int*)>::value);
static_assert(!SameAbi<int (*)(int), int (*)(int, int)>::value);

#define SAME_FUNCTION(ours, theirs) \
  static_assert(SameAbi<decltype(Driver::ours), decltype(&::theirs)>::value, #theirs)

// The header's macros lead these names to the versions that driver.cc loads.
SAME_FUNCTION(init, cuInit);
SAME_FUNCTION(driver_get_version, cuDriverGetVersion);
SAME_FUNCTION(get_error_name, cuGetErrorName);
SAME_FUNCTION(get_error_string, cuGetErrorString);
SAME_FUNCTION(device_get_count, cuDeviceGetCount);
SAME_FUNCTION(device_get, cuDeviceGet);
SAME_FUNCTION(device_get_name, cuDeviceGetName);
SAME_FUNCTION(device_get_uuid, cuDeviceGetUuid);
SAME_FUNCTION(device_total_mem, cuDeviceTotalMem);
SAME_FUNCTION(device_get_attribute, cuDeviceGetAttribute);
SAME_FUNCTION(device_get_pci_bus_id, cuDeviceGetPCIBusId);
SAME_FUNCTION(primary_ctx_retain, cuDevicePrimaryCtxRetain);
SAME_FUNCTION(primary_ctx_release, cuDevicePrimaryCtxRelease);
SAME_FUNCTION(ctx_push_current, cuCtxPushCurrent);
SAME_FUNCTION(ctx_pop_current, cuCtxPopCurrent);
SAME_FUNCTION(ctx_set_current, cuCtxSetCurrent);
SAME_FUNCTION(mem_alloc, cuMemAlloc);
SAME_FUNCTION(mem_free, cuMemFree);
SAME_FUNCTION(mem_host_alloc, cuMemHostAlloc);
SAME_FUNCTION(mem_free_host, cuMemFreeHost);
SAME_FUNCTION(pointer_set_attribute, cuPointerSetAttribute);
SAME_FUNCTION(pointer_get_attribute, cuPointerGetAttribute);
SAME_FUNCTION(memcpy_h_to_d_async, cuMemcpyHtoDAsync);
SAME_FUNCTION(memcpy_d_to_h_async, cuMemcpyDtoHAsync);
SAME_FUNCTION(memcpy_d_to_d_async, cuMemcpyDtoDAsync);
SAME_FUNCTION(memset_d8_async, cuMemsetD8Async);
SAME_FUNCTION(stream_create, cuStreamCreate);
SAME_FUNCTION(stream_destroy, cuStreamDestroy);
SAME_FUNCTION(stream_query, cuStreamQuery);
SAME_FUNCTION(module_load_data, cuModuleLoadData);
SAME_FUNCTION(module_get_function, cuModuleGetFunction);
SAME_FUNCTION(module_unload, cuModuleUnload);
SAME_FUNCTION(launch_kernel, cuLaunchKernel);
SAME_FUNCTION(stream_begin_capture, cuStreamBeginCapture);
SAME_FUNCTION(stream_end_capture, cuStreamEndCapture);
#if CUDA_VERSION >= 11040
SAME_FUNCTION(graph_instantiate, cuGraphInstantiateWithFlags);
#endif
SAME_FUNCTION(graph_launch, cuGraphLaunch);
SAME_FUNCTION(graph_exec_destroy, cuGraphExecDestroy);
SAME_FUNCTION(graph_destroy, cuGraphDestroy);
SAME_FUNCTION(mem_get_allocation_granularity, cuMemGetAllocationGranularity);
SAME_FUNCTION(mem_create, cuMemCreate);
SAME_FUNCTION(mem_release, cuMemRelease);
SAME_FUNCTION(mem_address_reserve, cuMemAddressReserve);
SAME_FUNCTION(mem_address_free, cuMemAddressFree);
SAME_FUNCTION(mem_map, cuMemMap);
SAME_FUNCTION(mem_unmap, cuMemUnmap);
SAME_FUNCTION(mem_set_access, cuMemSetAccess);
SAME_FUNCTION(flush_gpu_direct_rdma_writes, cuFlushGPUDirectRDMAWrites);
#if CUDA_VERSION >= 11070
SAME_FUNCTION(mem_get_handle_for_address_range, cuMemGetHandleForAddressRange);
#endif
SAME_FUNCTION(ctx_get_flags, cuCtxGetFlags);
#if CUDA_VERSION >= 12010
SAME_FUNCTION(ctx_set_flags, cuCtxSetFlags);
#endif

}  // namespace
}  // namespace rdmabench::inline v1::gpu

// The types and constants of the CUDA driver API that this room uses, declared here so that it
// compiles without the toolkit. Source: the CUDA Driver API reference; a test compares all of them
// with cuda.h if that is installed.
#pragma once

#include <cstdint>

// The driver's tags, so that its handles have the same types as those of NCCL and the runtime.
struct CUctx_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUmod_st;
struct CUstream_st;

namespace rdmabench::inline v1::gpu {

/// An address in GPU memory. Host code must not dereference it. 0: none.
using DevicePointer = std::uint64_t;

namespace cuda {

/// CUresult: 0 is success.
using Result = int;
using Device = int;
using MemoryHandle = unsigned long long;

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kNotInitialized = 3;
inline constexpr Result kStubLibrary = 34;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kInvalidDevice = 101;
inline constexpr Result kInvalidContext = 201;
inline constexpr Result kNoBinaryForGpu = 209;
inline constexpr Result kInvalidPtx = 218;
inline constexpr Result kJitCompilerNotFound = 221;
inline constexpr Result kUnsupportedPtxVersion = 222;
inline constexpr Result kInvalidHandle = 400;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;
inline constexpr Result kIllegalAddress = 700;
inline constexpr Result kLaunchFailed = 719;
inline constexpr Result kNotPermitted = 800;
inline constexpr Result kNotSupported = 801;
inline constexpr Result kSystemNotReady = 802;
inline constexpr Result kSystemDriverMismatch = 803;
inline constexpr Result kCaptureUnsupported = 900;
inline constexpr Result kCaptureInvalidated = 901;
inline constexpr Result kUnknown = 999;

/// CUdevice_attribute.
enum Attribute : int {
  kMultiprocessorCount = 16,
  kComputeMode = 20,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kUsesHostPageTables = 100,  ///< a coherent link to the CPU (NVLink-C2C): GH200, GB200
  kVmmSupported = 102,
  kVmmRdmaSupported = 110,
  kFlushWritesOptions = 117,
  kWritesOrdering = 118,
  kDmaBufSupported = 124,
};

/// CUcomputemode.
inline constexpr int kExclusiveProcess = 3;

/// CUpointer_attribute.
enum PointerAttribute : int {
  kPointerSyncMemops = 6,
  kPointerGpuDirectRdmaCapable = 15,
};

inline constexpr unsigned kContextSyncMemops = 0x80;
inline constexpr int kRangeHandleDmaBuf = 1;
inline constexpr unsigned long long kRangeFlagPcie = 1;
inline constexpr int kFlushOptionHost = 1;
inline constexpr int kFlushTargetCurrentContext = 0;
inline constexpr int kFlushToOwner = 100;
inline constexpr int kFlushToAllDevices = 200;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kAllocationPinned = 1;
inline constexpr int kLocationDevice = 1;
inline constexpr int kAccessReadWrite = 3;
inline constexpr int kGranularityMinimum = 0;

/// CUuuid.
struct Uuid {
  char bytes[16];
};

/// CUmemLocation.
struct Location {
  int type;
  int id;
};

/// CUmemAllocationProp.
struct AllocationProperties {
  int type;
  int requested_handle_types;
  Location location;
  void* windows_metadata;
  struct {
    unsigned char compression;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};

/// CUmemAccessDesc.
struct AccessDescription {
  Location location;
  int flags;
};

}  // namespace cuda
}  // namespace rdmabench::inline v1::gpu

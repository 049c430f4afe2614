// Our own declarations of the part of NCCL's C interface that we call: the program is built without
// NCCL's headers and loads the library of the host.
//
// Names and numbers are NCCL's; tests/unit/collective_nccl/nccl_abi_test.cc compares them with
// nccl.h if that is installed. Source: NCCL's user guide, "NCCL API".
#pragma once

#include <array>
#include <climits>
#include <cstddef>

struct CUstream_st;

namespace rdmabench::inline v1::collective::nccl {

/// The number that ncclGetVersion has returned for a release since 2.9: 2.18.5 is 21805.
constexpr int version_code(int major, int minor, int patch = 0) {
  return major * 10000 + minor * 100 + patch;
}

/// The releases that added calls or values.
inline constexpr int kOldest = version_code(2, 18);
inline constexpr int kHasRegister = version_code(2, 19);  // and ncclMemAlloc
inline constexpr int kHasFp8 = version_code(2, 24);
inline constexpr int kHasWindows = version_code(2, 27);   // and the CTA policy
inline constexpr int kHasAllToAll = version_code(2, 28);  // and gather and scatter

struct Comm;    // ncclComm
struct Window;  // ncclWindow_vidmem
using Stream = CUstream_st*;

inline constexpr std::size_t kUniqueIdBytes = 128;
struct UniqueId {
  std::array<char, kUniqueIdBytes> internal;
};

/// A newer library may return other numbers.
using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kUnhandledCudaError = 1;
inline constexpr Result kSystemError = 2;
inline constexpr Result kInternalError = 3;
inline constexpr Result kInvalidArgument = 4;
inline constexpr Result kInvalidUsage = 5;
inline constexpr Result kRemoteError = 6;
inline constexpr Result kInProgress = 7;

using RedOp = int;
inline constexpr RedOp kSum = 0;
inline constexpr RedOp kProd = 1;
inline constexpr RedOp kMax = 2;
inline constexpr RedOp kMin = 3;
inline constexpr RedOp kAvg = 4;

using Type = int;  // DataType has its numbers

inline constexpr int kScalarHostImmediate = 1;
inline constexpr int kWindowSymmetric = 1;  // NCCL_WIN_COLL_SYMMETRIC

inline constexpr unsigned kConfigMagic = 0xcafebeef;
inline constexpr int kUndefined = INT_MIN;

/// ncclConfig_t as of 2.27. Its size and version say which part is valid, so an older library is
/// given the size and version that it knows: see make_config().
struct Config {
  std::size_t size = 0;
  unsigned magic = kConfigMagic;
  unsigned version = 0;
  int blocking = kUndefined;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
  // Since 2.27.
  int traffic_class = kUndefined;
  const char* comm_name = nullptr;
  int collnet_enable = kUndefined;
  int cta_policy = kUndefined;
  int shrink_share = kUndefined;
  int nvls_ctas = kUndefined;
};
/// The size of the struct that ends with splitShare, padding included.
inline constexpr std::size_t kOldConfigBytes = 48;

/// All values undefined, with the size for a library of that version.
constexpr Config make_config(int version) {
  Config config;
  const bool whole = version >= kHasWindows;
  config.size = whole ? sizeof(Config) : kOldConfigBytes;
  config.version = static_cast<unsigned>(whole ? kHasWindows : kOldest);
  return config;
}

// Function types, with NCCL's names without "nccl".
using GetVersion = Result(int* version);
using GetUniqueId = Result(UniqueId* id);
using GetErrorString = const char*(Result result);
using GetLastError = const char*(Comm* comm);
using CommInitRankConfig = Result(Comm** comm, int ranks, UniqueId id, int rank, Config* config);
using CommFinalize = Result(Comm* comm);
using CommDestroy = Result(Comm* comm);
using CommAbort = Result(Comm* comm);
using CommGetAsyncError = Result(Comm* comm, Result* error);
using CommCount = Result(const Comm* comm, int* count);
using MemAlloc = Result(void** pointer, std::size_t bytes);
using MemFree = Result(void* pointer);
using CommRegister = Result(const Comm* comm, void* buffer, std::size_t bytes, void** handle);
using CommDeregister = Result(const Comm* comm, void* handle);
using CommWindowRegister = Result(Comm* comm, void* buffer, std::size_t bytes, Window** window,
                                  int flags);
using CommWindowDeregister = Result(Comm* comm, Window* window);
using RedOpCreatePreMulSum = Result(RedOp* op, void* scalar, Type type, int residence, Comm* comm);
using RedOpDestroy = Result(RedOp op, Comm* comm);
using GroupStart = Result();
using GroupEnd = Result();
using AllReduce = Result(const void* send, void* receive, std::size_t count, Type type, RedOp op,
                         Comm* comm, Stream stream);
using Reduce = Result(const void* send, void* receive, std::size_t count, Type type, RedOp op,
                      int root, Comm* comm, Stream stream);
using Broadcast = Result(const void* send, void* receive, std::size_t count, Type type, int root,
                         Comm* comm, Stream stream);
using ReduceScatter = Result(const void* send, void* receive, std::size_t receive_count, Type type,
                             RedOp op, Comm* comm, Stream stream);
using AllGather = Result(const void* send, void* receive, std::size_t send_count, Type type,
                         Comm* comm, Stream stream);
using AlltoAll = Result(const void* send, void* receive, std::size_t count, Type type, Comm* comm,
                        Stream stream);
using Gather = Result(const void* send, void* receive, std::size_t count, Type type, int root,
                      Comm* comm, Stream stream);
using Scatter = Result(const void* send, void* receive, std::size_t count, Type type, int root,
                       Comm* comm, Stream stream);
using Send = Result(const void* buffer, std::size_t count, Type type, int peer, Comm* comm,
                    Stream stream);
using Recv = Result(void* buffer, std::size_t count, Type type, int peer, Comm* comm,
                    Stream stream);

}  // namespace rdmabench::inline v1::collective::nccl

// libnccl, loaded at run time: one program runs with and without it.
#pragma once

#include <string>

#include "base/symbol.h"
#include "nccl_abi.h"

namespace rdmabench::inline v1::collective::nccl {

/// The calls that we use. Those newer than kOldest are null if the library is older.
struct Library {
  void* handle = nullptr;         ///< of dlopen(3); without it all calls are null
  const char* missing = nullptr;  ///< the first call of kOldest that the library lacks
  int version = 0;                ///< as of ncclGetVersion
  std::string path{};             ///< of the file that the loader chose

  Symbol find(const char* name) const;
  Symbol need(const char* name);

  GetVersion* get_version = need("ncclGetVersion");
  GetUniqueId* get_unique_id = need("ncclGetUniqueId");
  GetErrorString* get_error_string = need("ncclGetErrorString");
  GetLastError* get_last_error = need("ncclGetLastError");
  CommInitRankConfig* comm_init_rank_config = need("ncclCommInitRankConfig");
  CommFinalize* comm_finalize = need("ncclCommFinalize");
  CommDestroy* comm_destroy = need("ncclCommDestroy");
  CommAbort* comm_abort = need("ncclCommAbort");
  CommGetAsyncError* comm_get_async_error = need("ncclCommGetAsyncError");
  CommCount* comm_count = need("ncclCommCount");
  RedOpCreatePreMulSum* red_op_create_pre_mul_sum = need("ncclRedOpCreatePreMulSum");
  RedOpDestroy* red_op_destroy = need("ncclRedOpDestroy");
  GroupStart* group_start = need("ncclGroupStart");
  GroupEnd* group_end = need("ncclGroupEnd");
  AllReduce* all_reduce = need("ncclAllReduce");
  Reduce* reduce = need("ncclReduce");
  Broadcast* broadcast = need("ncclBroadcast");
  ReduceScatter* reduce_scatter = need("ncclReduceScatter");
  AllGather* all_gather = need("ncclAllGather");
  Send* send = need("ncclSend");
  Recv* recv = need("ncclRecv");

  MemAlloc* mem_alloc = nullptr;  ///< 2.19
  MemFree* mem_free = nullptr;
  CommRegister* comm_register = nullptr;
  CommDeregister* comm_deregister = nullptr;
  CommWindowRegister* comm_window_register = nullptr;  ///< 2.27
  CommWindowDeregister* comm_window_deregister = nullptr;
  AlltoAll* all_to_all = nullptr;  ///< 2.28
  Gather* gather = nullptr;
  Scatter* scatter = nullptr;
};

/// The library of this host, loaded by the first call; it stays loaded, because it has threads.
/// RDMABENCH_NCCL names another file than libnccl.so.2. Throws Error(unavailable): what was looked
/// for and where, what the loader said, or that the library is older than 2.18. Thread rule: any.
const Library& library();

/// "2.28.9"
std::string version_text(int version);

/// "ncclInvalidUsage (5): invalid usage (...). Last: ..." for a call that returned `result`. `comm`
/// may be null. Never throws; the library's text is cut to one line.
std::string result_text(const Library& library, Result result, Comm* comm);

}  // namespace rdmabench::inline v1::collective::nccl

// libnccl, loaded at run time: one program runs with and without it.
#pragma once

#include <string>

#include "nccl_abi.h"

namespace rdmabench::collective::nccl {

/// The calls that we use. Those newer than kOldest are null if the library is older.
struct Library {
  int version = 0;   ///< as of ncclGetVersion
  std::string path;  ///< of the file that the loader chose

  GetVersion* get_version = nullptr;
  GetUniqueId* get_unique_id = nullptr;
  GetErrorString* get_error_string = nullptr;
  GetLastError* get_last_error = nullptr;
  CommInitRankConfig* comm_init_rank_config = nullptr;
  CommFinalize* comm_finalize = nullptr;
  CommDestroy* comm_destroy = nullptr;
  CommAbort* comm_abort = nullptr;
  CommGetAsyncError* comm_get_async_error = nullptr;
  CommCount* comm_count = nullptr;
  RedOpCreatePreMulSum* red_op_create_pre_mul_sum = nullptr;
  RedOpDestroy* red_op_destroy = nullptr;
  GroupStart* group_start = nullptr;
  GroupEnd* group_end = nullptr;
  AllReduce* all_reduce = nullptr;
  Reduce* reduce = nullptr;
  Broadcast* broadcast = nullptr;
  ReduceScatter* reduce_scatter = nullptr;
  AllGather* all_gather = nullptr;
  Send* send = nullptr;
  Recv* recv = nullptr;

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

}  // namespace rdmabench::collective::nccl

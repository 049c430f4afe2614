// libnccl.so.2 for tests: NCCL's C interface over TCP between processes of one host, in the fake
// CUDA driver's memory. Like NCCL it checks the arguments of calls and enqueues them on streams.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "communicator.h"
#include "nccl_abi.h"
#include "profiler.h"

namespace fake_nccl {
namespace {

namespace abi = rdmabench::collective::nccl;
using abi::Result;

// Functions of the fake driver that the program loaded.
struct Cuda {
  int (*get_flags)(unsigned*) = nullptr;
  int (*alloc)(unsigned long long*, std::size_t) = nullptr;
  int (*free)(unsigned long long) = nullptr;
  void* (*host_pointer)(unsigned long long) = nullptr;
  int (*enqueue)(void*, void (*)(void*), void*, void (*)(void*)) = nullptr;
  int (*is_capturing)(void*) = nullptr;
};

const Cuda& cuda() {
  static const Cuda table = [] {
    Cuda found;
    if (void* const handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
      const auto find = [&](const char* name, auto*& function) {
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      };
      find("cuCtxGetFlags", found.get_flags);
      find("cuMemAlloc_v2", found.alloc);
      find("cuMemFree_v2", found.free);
      find("fake_cuda_host_pointer", found.host_pointer);
      find("fake_cuda_enqueue_until", found.enqueue);
      find("fake_cuda_is_capturing", found.is_capturing);
    }
    return found;
  }();
  return table;
}

/// cuCtxGetFlags() fails without a current context.
bool has_context() {
  unsigned flags = 0;
  return cuda().get_flags != nullptr && cuda().get_flags(&flags) == 0;
}

unsigned char* host(const void* device) {
  if (device == nullptr || cuda().host_pointer == nullptr) return nullptr;
  return static_cast<unsigned char*>(
      cuda().host_pointer(reinterpret_cast<unsigned long long>(device)));
}

thread_local std::string last_error;

Result refuse(Result result, std::string why) {
  last_error = std::move(why);
  return result;
}

using Group = std::vector<Operation>;
struct Launch {
  Communicator* comm;
  Group operations;
  int mask;  // of the profiler, when the call was made
  bool captured = false;
};

void run_launch(void* argument) {
  const auto* const launch = static_cast<const Launch*>(argument);
  // NCCL before 2.26 reads the mask at the launch.
  const bool then = launch->comm->asked.version >= abi::version_code(2, 26);
  tell_profiler(*launch->comm, launch->operations, then ? launch->mask : profiler_mask());
  launch->comm->run(launch->operations);
}

/// It cannot run any more: it has run, or its graph is destroyed.
void forget_launch(void* argument) {
  const std::unique_ptr<Launch> launch(static_cast<Launch*>(argument));
  if (launch->captured) --launch->comm->captured;
}

struct Waiting {
  Communicator* comm;
  void* stream;
  Group collectives;
  Operation exchange;
  int mask;
};
thread_local int group_depth = 0;
thread_local std::vector<Waiting> waiting;

/// Returns "in progress" for so many queries: the call is not yet on its stream.
std::mutex slow_mutex;
std::vector<std::pair<int, Waiting>> slow;
constexpr int kPolls = 3;

Result enqueue(Waiting& item) {
  Launch launch{item.comm, std::move(item.collectives), item.mask};
  if (!item.exchange.sends.empty() || !item.exchange.receives.empty()) {
    launch.operations.push_back(std::move(item.exchange));
  }
  if (cuda().enqueue == nullptr) return refuse(abi::kUnhandledCudaError, "no CUDA driver");
  launch.captured = cuda().is_capturing(item.stream) != 0;
  // The first operation of a kind connects the ranks, for which NCCL allocates memory: stricter
  // than NCCL, which may do so in a capture, this refuses it.
  for (const Operation& one : launch.operations) {
    if (!launch.captured) {
      item.comm->connected.insert(one.kind);
    } else if (!item.comm->connected.contains(one.kind)) {
      return refuse(abi::kUnhandledCudaError, "the first operation of its kind, in a capture");
    }
  }
  if (launch.captured) ++item.comm->captured;
  return cuda().enqueue(item.stream, run_launch, new Launch(std::move(launch)), forget_launch) == 0
             ? abi::kSuccess
             : refuse(abi::kUnhandledCudaError, "the stream takes no work");
}

Result end_group() {
  Result result = abi::kSuccess;
  for (Waiting& item : waiting) {
    if (item.comm->asked.slow_enqueue && !item.comm->blocking) {
      const std::scoped_lock lock(slow_mutex);
      item.comm->state = abi::kInProgress;
      slow.emplace_back(kPolls, std::move(item));
      result = abi::kInProgress;
    } else if (const Result one = enqueue(item); one != abi::kSuccess) {
      result = one;
    }
  }
  waiting.clear();
  return result;
}

Waiting& of(Communicator* comm, void* stream) {
  for (Waiting& item : waiting) {
    if (item.comm == comm && item.stream == stream) return item;
  }
  waiting.push_back({comm, stream, {}, {}, profiler_mask()});
  waiting.back().exchange.name = "SendRecv";
  return waiting.back();
}

Communicator* real(abi::Comm* comm) {
  return reinterpret_cast<Communicator*>(comm);
}
const Communicator* real(const abi::Comm* comm) {
  return reinterpret_cast<const Communicator*>(comm);
}

/// Checks the arguments of a call.
Result check(const char* name, Communicator* comm, int type) {
  if (comm == nullptr) return refuse(abi::kInvalidArgument, fmt::format("{}: no comm", name));
  if (comm->state == abi::kInProgress) {
    return refuse(abi::kInvalidArgument, fmt::format("{}: the last call is in progress", name));
  }
  const int types = comm->asked.version >= abi::kHasFp8 ? 12 : 10;
  if (type < 0 || type >= types) {
    return refuse(abi::kInvalidArgument, fmt::format("{}: type {} is invalid", name, type));
  }
  if (comm->asked.refuse == name) {
    return refuse(comm->asked.refusal, fmt::format("{}: refused", name));
  }
  return abi::kSuccess;
}

struct Asked {
  const char* name;
  Kind kind;
  const void* send;
  void* receive;
  std::size_t count;
  int type;
  int op;
  int root;
  abi::Comm* comm;
  void* stream;
};

Result collective(const Asked& asked) {
  Communicator* const comm = real(asked.comm);
  if (const Result result = check(asked.name, comm, asked.type)) return result;
  if (asked.root < 0 || asked.root >= comm->ranks) {
    return refuse(abi::kInvalidArgument, fmt::format("{}: root {}", asked.name, asked.root));
  }
  Operation operation;
  operation.kind = asked.kind;
  operation.name = asked.name;
  operation.send = host(asked.send);
  operation.receive = host(asked.receive);
  operation.count = asked.count;
  operation.type = asked.type;
  operation.root = asked.root;
  const bool at_root = asked.root == comm->rank;
  const bool reads = asked.kind != Kind::broadcast || at_root;
  const bool writes = asked.kind != Kind::reduce || at_root;
  if (asked.count == 0) return abi::kSuccess;
  while (comm->asked.block.holds(comm->calls)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ++comm->calls;
  if ((reads && operation.send == nullptr) || (writes && operation.receive == nullptr)) {
    return refuse(abi::kInvalidArgument,
                  fmt::format("{}: a buffer is not in GPU memory", asked.name));
  }
  const bool eight_bits = asked.type == 10 || asked.type == 11;
  if (comm->ranks == 1 && eight_bits && reads && writes && (asked.op == 4 || asked.op >= 5)) {
    return refuse(abi::kInvalidArgument, fmt::format("{}: no such kernel", asked.name));
  }
  if (asked.op >= 5) {
    const auto made = static_cast<std::size_t>(asked.op - 5);
    if (made >= comm->scaled.size()) {
      return refuse(abi::kInvalidArgument, fmt::format("{}: op {}", asked.name, asked.op));
    }
    operation.combine = comm->scaled[made];
  } else {
    operation.combine.op = asked.op;
  }
  comm->trace(fmt::format("{} count={} type={} op={} root={} in_place={}", asked.name, asked.count,
                          asked.type, asked.op, asked.root, asked.send == asked.receive));
  of(comm, asked.stream).collectives.push_back(std::move(operation));
  return group_depth == 0 ? end_group() : abi::kSuccess;
}

Result point(const char* name, const void* buffer, std::size_t count, int type, int peer,
             abi::Comm* handle, void* stream, bool out) {
  Communicator* const comm = real(handle);
  if (const Result result = check(name, comm, type)) return result;
  if (peer < 0 || peer >= comm->ranks) {
    return refuse(abi::kInvalidArgument, fmt::format("{}: peer {}", name, peer));
  }
  unsigned char* const data = host(buffer);
  if (data == nullptr && count != 0) {
    return refuse(abi::kInvalidArgument, fmt::format("{}: the buffer is not in GPU memory", name));
  }
  comm->trace(fmt::format("{} count={} type={} peer={}", name, count, type, peer));
  if (count != 0) {
    Operation& exchange = of(comm, stream).exchange;
    (out ? exchange.sends : exchange.receives).push_back({peer, data, count * size_of(type)});
  }
  return group_depth == 0 ? end_group() : abi::kSuccess;
}

/// All blocks of a rooted or full exchange, as grouped sends and receives.
Result blocks(const char* name, const void* send, void* receive, std::size_t count, int type,
              int from, int to, abi::Comm* handle, void* stream) {
  const Communicator* const comm = real(handle);
  if (comm == nullptr) return abi::kInvalidArgument;
  comm->trace(name);
  const std::size_t bytes = count * size_of(type);
  ++group_depth;
  Result result = abi::kSuccess;
  for (int peer = 0; peer < comm->ranks && result == abi::kSuccess; ++peer) {
    const std::size_t place = static_cast<std::size_t>(peer) * bytes;
    // from/to: the only rank that sends or receives; -1 for all.
    if ((from < 0 || from == comm->rank) && (to < 0 || to == peer)) {
      const auto* const data = static_cast<const unsigned char*>(send) + (to < 0 ? place : 0);
      result = point("ncclSend", data, count, type, peer, handle, stream, true);
    }
    if (result == abi::kSuccess && (to < 0 || to == comm->rank) && (from < 0 || from == peer)) {
      auto* const data = static_cast<unsigned char*>(receive) + (from < 0 ? place : 0);
      result = point("ncclRecv", data, count, type, peer, handle, stream, false);
    }
  }
  if (--group_depth != 0 || result != abi::kSuccess) return result;
  return end_group();
}

/// As NCCL's does (src/debug.cc): the settings are read once, the file is emptied and never closed.
std::FILE* log_file() {
  static std::FILE* const file = []() -> std::FILE* {
    const char* const level = std::getenv("NCCL_DEBUG");
    const char* const name = std::getenv("NCCL_DEBUG_FILE");
    if (level == nullptr || name == nullptr || std::strcmp(level, "INFO") != 0) return nullptr;
    std::string path = name;
    if (const std::size_t at = path.find("%p"); at != std::string::npos) {
      path.replace(at, 2, std::to_string(::getpid()));
    }
    std::FILE* const opened = std::fopen(path.c_str(), "w");
    if (opened != nullptr) ::setlinebuf(opened);
    return opened;
  }();
  return file;
}

void write_log(const Communicator& comm) {
  std::FILE* const file = log_file();
  if (file == nullptr) return;
  const auto say = [&](const std::string& text) {
    std::fprintf(file, "host:%d:%d [0] NCCL INFO %s\n", ::getpid(), ::getpid(), text.c_str());
  };
  const char* const route = std::getenv("FAKE_NCCL_ROUTE");
  say("Using network Socket");
  for (int peer = 0; peer < comm.ranks; ++peer) {
    if (peer == comm.rank) continue;
    say(fmt::format("Channel 00/0 : {}[0] -> {}[0] [send] via {}", comm.rank, peer,
                    route == nullptr ? "NET/Socket/0" : route));
  }
}

/// As NCCL does: "keep polling until all graphs referencing us die". NCCL has no limit; here a test
/// fails after one.
Result wait_for_graphs(const Communicator& comm) {
  constexpr int kMost = 20'000;
  for (int i = 0; comm.captured != 0; ++i) {
    if (i == kMost) return refuse(abi::kInternalError, "graphs of it are left: NCCL would hang");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return abi::kSuccess;
}

Result init(abi::Comm** out, int ranks, const abi::UniqueId& id, int rank, bool blocking) {
  if (out == nullptr || ranks < 1 || rank < 0 || rank >= ranks) return abi::kInvalidArgument;
  log_file();
  if (!has_context()) return refuse(abi::kUnhandledCudaError, "no CUDA context is current");
  Address root;
  std::memcpy(&root, id.internal.data(), sizeof root);
  if (root.magic != kMagic) return refuse(abi::kInvalidArgument, "the unique id is none");
  auto* const comm = new Communicator(rank, ranks);
  *out = reinterpret_cast<abi::Comm*>(comm);
  comm->blocking = blocking;
  comm->trace(blocking ? "init blocking" : "init");
  comm->init = std::thread([comm, root] {
    while (comm->asked.init.set && !comm->mesh.stop) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const bool good = comm->ranks == 1 || comm->mesh.connect(root);
    if (good) write_log(*comm);
    if (good) init_profiler(*comm);
    comm->state = good ? abi::kSuccess : abi::kRemoteError;
  });
  if (!blocking) return abi::kInProgress;
  comm->init.join();
  return comm->state;
}

}  // namespace
}  // namespace fake_nccl

using namespace fake_nccl;
using abi::Comm;
using abi::Result;
using abi::Stream;

extern "C" {

Result ncclGetVersion(int* version) {
  *version = controls(0).version;
  return abi::kSuccess;
}

Result ncclGetUniqueId(abi::UniqueId* id) {
  log_file();
  const Address root = open_root();
  if (root.magic == 0) return refuse(abi::kSystemError, "cannot listen");
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal.data(), &root, sizeof root);
  return abi::kSuccess;
}

const char* ncclGetErrorString(Result result) {
  return result == abi::kSuccess ? "no error" : "an error of the fake";
}

const char* ncclGetLastError(Comm* /*comm*/) {
  return last_error.c_str();
}

Result ncclCommInitRankConfig(Comm** comm, int ranks, abi::UniqueId id, int rank,
                              abi::Config* config) {
  const int version = controls(rank).version;
  if (config == nullptr || config->magic != abi::kConfigMagic ||
      config->size > (version >= abi::kHasWindows ? sizeof(abi::Config) : abi::kOldConfigBytes) ||
      config->version > static_cast<unsigned>(version)) {
    return refuse(abi::kInvalidArgument, "the configuration is of another version");
  }
  if (const Controls asked = controls(rank); asked.refuse == "ncclCommInitRankConfig") {
    return refuse(asked.refusal, "ncclCommInitRankConfig: refused");
  }
  return init(comm, ranks, id, rank, config->blocking != 0);
}

Result ncclCommFinalize(Comm* comm) {
  real(comm)->trace("finalize");
  return abi::kSuccess;
}

Result ncclCommDestroy(Comm* comm) {
  real(comm)->trace("destroy");
  if (const Result result = wait_for_graphs(*real(comm))) return result;
  finalize_profiler(*real(comm));
  delete real(comm);
  return abi::kSuccess;
}

Result ncclCommAbort(Comm* comm) {
  // The work on streams ends but may still use the communicator, which is therefore not freed.
  real(comm)->trace("abort");
  real(comm)->mesh.stop = true;
  if (const Result result = wait_for_graphs(*real(comm))) return result;
  finalize_profiler(*real(comm));
  if (real(comm)->init.joinable()) real(comm)->init.join();
  return abi::kSuccess;
}

Result ncclCommGetAsyncError(Comm* comm, Result* error) {
  {
    const std::scoped_lock lock(slow_mutex);
    for (std::size_t i = slow.size(); i-- > 0;) {
      if (slow[i].second.comm != real(comm) || --slow[i].first > 0) continue;
      const Result result = enqueue(slow[i].second);
      slow.erase(slow.begin() + static_cast<std::ptrdiff_t>(i));
      real(comm)->state = result;
    }
  }
  *error = real(comm)->state;
  return abi::kSuccess;
}

Result ncclCommCount(const Comm* comm, int* count) {
  *count = real(comm)->ranks;
  return abi::kSuccess;
}

Result ncclMemAlloc(void** pointer, std::size_t bytes) {
  unsigned long long device = 0;
  if (cuda().alloc == nullptr || cuda().alloc(&device, bytes) != 0) {
    return refuse(abi::kUnhandledCudaError, "out of memory");
  }
  *pointer = reinterpret_cast<void*>(device);
  return abi::kSuccess;
}

Result ncclMemFree(void* pointer) {
  return cuda().free(reinterpret_cast<unsigned long long>(pointer)) == 0 ? abi::kSuccess
                                                                         : abi::kInvalidArgument;
}

Result ncclCommRegister(const Comm* comm, void* buffer, std::size_t bytes, void** handle) {
  if (const Result result = check("ncclCommRegister", const_cast<Communicator*>(real(comm)), 0)) {
    return result;
  }
  if (host(buffer) == nullptr) return refuse(abi::kInvalidArgument, "not GPU memory");
  real(comm)->trace(fmt::format("register bytes={}", bytes));
  *handle = buffer;
  return abi::kSuccess;
}

Result ncclCommDeregister(const Comm* comm, void* /*handle*/) {
  real(comm)->trace("deregister");
  return abi::kSuccess;
}

Result ncclCommWindowRegister(Comm* comm, void* buffer, std::size_t bytes, abi::Window** window,
                              int flags) {
  if (const Result result = check("ncclCommWindowRegister", real(comm), 0)) return result;
  if (host(buffer) == nullptr) return refuse(abi::kInvalidArgument, "not GPU memory");
  real(comm)->trace(fmt::format("window bytes={} flags={}", bytes, flags));
  *window = static_cast<abi::Window*>(buffer);
  return abi::kSuccess;
}

Result ncclCommWindowDeregister(Comm* comm, abi::Window* /*window*/) {
  real(comm)->trace("unwindow");
  return abi::kSuccess;
}

Result ncclRedOpCreatePreMulSum(abi::RedOp* op, void* scalar, abi::Type type, int residence,
                                Comm* comm) {
  if (const Result result = check("ncclRedOpCreatePreMulSum", real(comm), type)) return result;
  if (residence != abi::kScalarHostImmediate) return refuse(abi::kInvalidArgument, "residence");
  real(comm)->scaled.push_back(premul(type, scalar));
  *op = 4 + static_cast<int>(real(comm)->scaled.size());
  return abi::kSuccess;
}

Result ncclRedOpDestroy(abi::RedOp /*op*/, Comm* /*comm*/) {
  return abi::kSuccess;
}

Result ncclGroupStart() {
  ++group_depth;
  return abi::kSuccess;
}

Result ncclGroupEnd() {
  if (group_depth == 0) return refuse(abi::kInvalidUsage, "no group was begun");
  return --group_depth == 0 ? end_group() : abi::kSuccess;
}

Result ncclAllReduce(const void* send, void* receive, std::size_t count, abi::Type type,
                     abi::RedOp op, Comm* comm, Stream stream) {
  return collective(
      {"ncclAllReduce", Kind::all_reduce, send, receive, count, type, op, 0, comm, stream});
}

Result ncclReduce(const void* send, void* receive, std::size_t count, abi::Type type, abi::RedOp op,
                  int root, Comm* comm, Stream stream) {
  return collective(
      {"ncclReduce", Kind::reduce, send, receive, count, type, op, root, comm, stream});
}

Result ncclBroadcast(const void* send, void* receive, std::size_t count, abi::Type type, int root,
                     Comm* comm, Stream stream) {
  return collective(
      {"ncclBroadcast", Kind::broadcast, send, receive, count, type, 0, root, comm, stream});
}

Result ncclReduceScatter(const void* send, void* receive, std::size_t count, abi::Type type,
                         abi::RedOp op, Comm* comm, Stream stream) {
  return collective(
      {"ncclReduceScatter", Kind::reduce_scatter, send, receive, count, type, op, 0, comm, stream});
}

Result ncclAllGather(const void* send, void* receive, std::size_t count, abi::Type type, Comm* comm,
                     Stream stream) {
  return collective(
      {"ncclAllGather", Kind::all_gather, send, receive, count, type, 0, 0, comm, stream});
}

Result ncclAlltoAll(const void* send, void* receive, std::size_t count, abi::Type type, Comm* comm,
                    Stream stream) {
  return blocks("ncclAlltoAll", send, receive, count, type, -1, -1, comm, stream);
}

Result ncclGather(const void* send, void* receive, std::size_t count, abi::Type type, int root,
                  Comm* comm, Stream stream) {
  return blocks("ncclGather", send, receive, count, type, -1, root, comm, stream);
}

Result ncclScatter(const void* send, void* receive, std::size_t count, abi::Type type, int root,
                   Comm* comm, Stream stream) {
  return blocks("ncclScatter", send, receive, count, type, root, -1, comm, stream);
}

Result ncclSend(const void* buffer, std::size_t count, abi::Type type, int peer, Comm* comm,
                Stream stream) {
  return point("ncclSend", buffer, count, type, peer, comm, stream, true);
}

Result ncclRecv(void* buffer, std::size_t count, abi::Type type, int peer, Comm* comm,
                Stream stream) {
  return point("ncclRecv", buffer, count, type, peer, comm, stream, false);
}

}  // extern "C"

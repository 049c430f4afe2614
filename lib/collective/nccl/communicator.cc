#include "communicator.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/refuse.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

constexpr auto kPause = std::chrono::microseconds(50);  // between two polls in set-up
constexpr auto kAbortWait = std::chrono::seconds(5);

[[noreturn]] void refuse(const Library& library, Result result, Comm* comm, std::string_view call,
                         Moment moment) {
  const bool cuda = result == kUnhandledCudaError;
  const bool none = cuda && moment == Moment::begin;
  throw Error(none ? Fault::unavailable : Fault::failed,
              fmt::format("{} gave {}", call, result_text(library, result, comm)),
              none ? "NCCL found no GPU that it can use: see 'nvidia-smi' and the driver's version."
              : cuda ? "Look into dmesg for NVRM: Xid, and with nvidia-smi for memory that is left."
                     : "NCCL_DEBUG=WARN shows NCCL's own account.");
}

UniqueId share_id(const Library& library, Team team, Exchange& exchange, Moment moment,
                  Deadline deadline) {
  UniqueId id{};
  std::string text;
  if (team.rank == 0) {
    // The others must learn of a failure: an empty text stands for it.
    const Result result = library.get_unique_id(&id);
    if (result == kSuccess) text.assign(id.internal.data(), id.internal.size());
    exchange.broadcast(text, deadline);
    if (result != kSuccess) refuse(library, result, nullptr, "ncclGetUniqueId", moment);
    return id;
  }
  text = exchange.broadcast("", deadline);
  if (text.size() != id.internal.size()) {
    throw Error(Fault::failed, "rank 0 could not make NCCL's unique id", "See what rank 0 says.");
  }
  std::memcpy(id.internal.data(), text.data(), id.internal.size());
  return id;
}

Config config_of(const Library& library, const NcclOptions& options) {
  Config config = make_config(library.version);
  config.blocking = options.non_blocking ? 0 : 1;
  if (!options.network.empty()) config.net_name = options.network.c_str();
  if (options.cta_policy >= 0) {
    refuse_if(library.version < kHasWindows,
              fmt::format("a CTA policy with NCCL {}", version_text(library.version)),
              "It came with 2.27: leave it out.");
    config.cta_policy = options.cta_policy;
  }
  return config;
}

}  // namespace

Communicator::~Communicator() {
  abort();
}

void Communicator::join(Team team, Exchange& exchange, const NcclOptions& options, Moment moment,
                        Deadline deadline) {
  Config config = config_of(library_, options);
  const UniqueId id = share_id(library_, team, exchange, moment, deadline);
  Comm* comm = nullptr;
  const Result result = library_.comm_init_rank_config(&comm, static_cast<int>(team.size), id,
                                                       static_cast<int>(team.rank), &config);
  comm_ = comm;
  const std::string call =
      fmt::format("ncclCommInitRankConfig of rank {} of {}", team.rank, team.size);
  if (const Result end = end_of(result, call, deadline); end != kSuccess) {
    refuse(library_, end, get(), call, moment);
  }
  int ranks = 0;
  library_.comm_count(comm, &ranks);
  if (ranks != static_cast<int>(team.size)) {
    throw Error(Fault::failed, fmt::format("NCCL made a communicator of {} ranks for a job of {}",
                                           ranks, team.size));
  }
}

Result Communicator::state() const noexcept {
  Comm* const comm = get();
  Result state = kInternalError;
  if (comm == nullptr) return state;
  const Result asked = library_.comm_get_async_error(comm, &state);
  return asked == kSuccess ? state : asked;
}

Result Communicator::end_of(Result result, std::string_view call, Deadline deadline) const {
  while (result == kInProgress) {
    if (deadline.passed()) {
      throw Error(Fault::failed, fmt::format("{} was not done in time", call),
                  "Another rank may not have come, or NCCL's network cannot reach it: "
                  "NCCL_DEBUG=INFO and NCCL_SOCKET_IFNAME help.");
    }
    std::this_thread::sleep_for(kPause);
    result = state();
  }
  return result;
}

void Communicator::complete(Result result, std::string_view call, Deadline deadline) const {
  const Result end = end_of(result, call, deadline);
  if (end != kSuccess) refuse(library_, end, get(), call, Moment::later);
}

void Communicator::abort() noexcept {
  Comm* const comm = std::exchange(comm_, nullptr);
  if (comm == nullptr) return;
  struct Done {
    std::mutex mutex;
    std::condition_variable told;
    bool is = false;
  };
  try {
    auto done = std::make_shared<Done>();
    CommAbort* const call = library_.comm_abort;
    std::thread([done, call, comm] {
      call(comm);
      const std::scoped_lock lock(done->mutex);
      done->is = true;
      done->told.notify_all();
    }).detach();
    std::unique_lock lock(done->mutex);
    done->told.wait_for(lock, kAbortWait, [&] { return done->is; });
  } catch (...) {
    library_.comm_abort(comm);  // no thread could be started: it may then take longer
  }
}

void Communicator::destroy(Deadline deadline) {
  Comm* const comm = get();
  if (comm == nullptr) return;
  complete(library_.comm_finalize(comm), "ncclCommFinalize", deadline);
  comm_ = nullptr;
  if (const Result result = library_.comm_destroy(comm); result != kSuccess) {
    refuse(library_, result, nullptr, "ncclCommDestroy", Moment::later);
  }
}

}  // namespace rdmabench::inline v1::collective::nccl

// A communicator of NCCL. Where it is non-blocking every wait for it has a deadline; else its calls
// return when they are done, and the tester's heartbeat limits them.
#pragma once

#include <string>
#include <string_view>

#include "library.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/collective/engines.h"

namespace rdmabench::inline v1::collective::nccl {

/// CUDA's errors mean "not available here" while NCCL begins. Later, also where a communicator is
/// made in the middle of a run, they are failures of the run: no memory left, an Xid.
enum class Moment : std::uint8_t { begin, later };

/// Thread rule: one thread at a time, with the GPU's context current.
class Communicator {
 public:
  explicit Communicator(const Library& library) : library_(library) {}
  /// Aborts unless destroy() was called.
  ~Communicator();
  Communicator& operator=(Communicator&&) = delete;

  /// Rank 0 creates the unique id, `exchange` broadcasts it, and all ranks join. Throws
  /// Error: unavailable (at the beginning: no GPU that NCCL can use), failed (another result, the
  /// deadline), usage (an option that this NCCL does not have). Source: ncclCommInitRankConfig.
  void join(Team team, Exchange& exchange, const NcclOptions& options, Moment moment,
            Deadline deadline);

  Comm* get() const noexcept { return comm_; }
  const Library& library() const noexcept { return library_; }

  /// Waits while the call that returned `result` is in progress. Throws Error(failed) naming `call`
  /// unless it succeeds.
  void complete(Result result, std::string_view call, Deadline deadline) const;

  /// kSuccess, kInProgress, or an error.
  Result state() const noexcept;

  /// Aborts the calls in progress on this rank. No captured graph of them may be left: NCCL waits
  /// for those (commDestroySync()). Waits at most about 5 s, because NCCL may never return.
  void abort() noexcept;

  /// All ranks together; throws Error(failed) at the deadline.
  void destroy(Deadline deadline);

 private:
  /// How a call that returned `result` ends. Throws Error(failed) at the deadline.
  Result end_of(Result result, std::string_view call, Deadline deadline) const;

  const Library& library_;
  Comm* comm_ = nullptr;
};

}  // namespace rdmabench::inline v1::collective::nccl

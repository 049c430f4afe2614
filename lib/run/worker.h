// An open endpoint whose type is erased: once per session, outside of every loop.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/run/backends.h"
#include "workload/table.h"

namespace rdmabench::inline v1::run {

/// An open endpoint of some back end with the loops that run over it.
/// Thread rule: one thread at a time.
class Worker : public OpenEndpoint {
 public:
  /// The plan within what the endpoint could have of its device, which may be less than was asked
  /// for.
  virtual workload::EpochPlan bounded(workload::EpochPlan plan) const = 0;

  /// Finds the loop of `key` and readies endpoint and memory for an epoch of `plan`, within
  /// bounded(). Throws Error(usage) where the transport lacks the operation.
  virtual void prepare(const workload::LoopKey& key, const workload::EpochPlan& plan) = 0;

  /// The same for the loop of a registered pattern, in place of that of `key`.
  virtual void prepare_pattern(std::string_view pattern, const workload::LoopKey& key,
                               const workload::EpochPlan& plan) = 0;

  /// Runs the epoch that was prepared last.
  virtual workload::EpochResult run(workload::Watch& watch,
                                    std::span<measure::Ticks> intervals) = 0;

  /// Where messages of this side lie, if that is a GPU's memory; else null.
  virtual memory::GpuMemory* gpu_memory() const noexcept = 0;

  /// As transport/transport.h tells.
  virtual transport::WriteOrder write_order() const noexcept = 0;
};

/// Opens an endpoint of type T as a Worker. Throws what T's constructor throws. Defined in
/// worker_of.h and instantiated in one file for each type, which CMake writes: the types are
/// compiled side by side, and a change of one cannot change the code of another.
template <class T>
std::unique_ptr<Worker> open_worker(const transport::EndpointRequest& request,
                                    std::string_view choice);

/// Throws Error(unavailable) for an operation that T does not have in this build.
template <transport::Transport T, class... Ops>
void check_operations(const transport::EndpointRequest& request, transport::OperationList<Ops...>) {
  const auto check = [&]<class Op>(Op) {
    if (!Op::kExtended || T::template supports<Op> || !request.operations.has(Op::kCode)) return;
    throw Error(Fault::unavailable, "`operation` " + std::string(Op::kName),
                "Only the verbs back end has it, where libibverbs had it when this was built: "
                "atomic-write needs rdma-core 44, flush 47.");
  };
  (check(Ops{}), ...);
}

}  // namespace rdmabench::inline v1::run

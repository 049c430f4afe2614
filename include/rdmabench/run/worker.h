// An open endpoint with the loops over it, and how a back end of another project is registered.
//
// add_backend() is stable, as is Backend of run/backends.h; the rest serves it and may change.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>

#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/workload/loops.h"

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

namespace detail {

/// The loop of one side over endpoints of that type, a PatternLoop of it. Throws Error(usage) where
/// the pattern posts an operation that the endpoint lacks.
workload::AnyLoop find_pattern(std::string_view name, std::type_index endpoint, workload::Side side,
                               bool validate);

/// Throws Error(usage): there is no such loop.
[[noreturn]] void refuse_loop(const workload::LoopKey& key);

/// Throws Error(unavailable): the back end has no such operation in this build.
[[noreturn]] void refuse_operation(transport::OperationCode operation);

/// Throws Error(unavailable) for an operation that T does not have in this build.
template <transport::Transport T, class... Ops>
void check_operations(const transport::EndpointRequest& request, transport::OperationList<Ops...>) {
  const auto check = [&]<class Op>(Op) {
    if (Op::kExtended && !T::template supports<Op> && request.operations.has(Op::kCode)) {
      refuse_operation(Op::kCode);
    }
  };
  (check(Ops{}), ...);
}

/// Enters a back end whose `open` and `endpoint` are set.
void add_backend(const Backend& row);

}  // namespace detail

/// The Worker over one endpoint type.
template <transport::Transport T>
class WorkerOf final : public EndpointHolder<T, Worker> {
 public:
  using EndpointHolder<T, Worker>::EndpointHolder;
  using EndpointHolder<T, Worker>::endpoint;

  std::string failure() const override {
    return memory_failure_.empty() ? endpoint().failure() : memory_failure_;
  }

  workload::EpochPlan bounded(workload::EpochPlan plan) const override {
    if constexpr (requires(const T& candidate) {
                    candidate.depth();
                    candidate.receives();
                  }) {
      plan.depth = std::min(plan.depth, endpoint().depth());
      plan.receives = std::min(plan.receives, endpoint().receives());
      plan.post_list = std::min(plan.post_list, plan.depth);
    }
    return plan;
  }

  void prepare(const workload::LoopKey& key, const workload::EpochPlan& plan) override {
    prepared_ = workload::find_loop<T>(key);
    if (prepared_.loop == nullptr) detail::refuse_loop(key);
    key_ = key;
    plan_ = bounded(plan);
    prepared_.prepare(endpoint(), key_, plan_);
  }

  void prepare_pattern(std::string_view pattern, const workload::LoopKey& key,
                       const workload::EpochPlan& plan) override {
    const workload::AnyLoop loop = detail::find_pattern(pattern, typeid(T), key.side, key.validate);
    prepared_ = {reinterpret_cast<workload::Loop<T>>(loop), nullptr, nullptr};
    key_ = key;
    plan_ = bounded(plan);
    workload::check_drained(endpoint().posted() - endpoint().completed());
    if constexpr (!T::kReliable) workload::discard_arrivals(endpoint());
    const transport::Region window = endpoint().window();
    std::fill_n(window.data, window.slots * window.stride, std::byte{0});
  }

  workload::EpochResult run(workload::Watch& watch, std::span<measure::Ticks> intervals) override {
    workload::EpochResult result = prepared_.loop(endpoint(), plan_, watch, intervals);
    if (result.outcome != workload::Outcome::ok || prepared_.check == nullptr) return result;
    workload::Extent extent{.iterations = plan_.iterations};
    watch.extend(extent);
    plan_.iterations = extent.iterations;
    if (key_.epoch_content || workload::gpu_of(endpoint()) != nullptr) {
      try {
        prepared_.check(endpoint(), key_, plan_, result);
      } catch (const std::exception& error) {  // a worker's thread must not throw
        result.outcome = workload::Outcome::memory_failed;
        memory_failure_ = error.what();
      }
    }
    return result;
  }

  memory::GpuMemory* gpu_memory() const noexcept override { return workload::gpu_of(endpoint()); }

  transport::WriteOrder write_order() const noexcept override { return endpoint().write_order(); }

 private:
  workload::Entry<T> prepared_;
  workload::LoopKey key_;
  workload::EpochPlan plan_;
  std::string memory_failure_;
};

/// Registers a back end of another project with this process: from then on run(), Server,
/// `rdmabench::run::backends()` and everything that takes the name of a back end know it, with all
/// loops over T, which are compiled here. Both processes of a session must register it.
/// add_pattern() and with_connected() take T as a template argument besides.
///
/// `row` must have `name`, `offer` and `choose`; `open`, `endpoint`, `many_queue_pairs` and
/// `post_lists` are set here, and the others may be empty. with_connected() and add_pattern() know
/// T where they are given it. T's describe() gives row.name as its back end. "auto" takes it after
/// those of this build, in the order in which they were added.
///
/// Throws Error(usage) for a row without what it must have, for a name that is not 1 to 32 of
/// [a-z0-9-], or that a back end has, for a word of `takes` that is none, and for the ninth one.
/// Thread rule: any thread; but before the sessions that use it.
template <class T>
void add_backend(Backend row) {
  constexpr bool kOpens =
      std::is_constructible_v<T, const transport::EndpointRequest&, std::string_view>;
  constexpr bool kHasTraits = requires {
    static_cast<bool>(T::kReliable);
    static_cast<bool>(T::kOrdersMessages);
    static_cast<bool>(T::template supports<transport::Send>);
    static_cast<bool>(T::template consumes_receive<transport::WriteImm>);
  };
  static_assert(kOpens,
                "an endpoint needs a constructor of (const transport::EndpointRequest& request, "
                "std::string_view choice)");
  static_assert(kHasTraits,
                "an endpoint needs, as static constexpr bool, kReliable, kOrdersMessages, and "
                "template <class Op> supports and consumes_receive");
  static_assert(
      transport::Transport<T>,
      "an endpoint needs every member of the concept Transport (transport/transport.h), "
      "with these types and noexcept; transport::TransportDefaults has most of those that "
      "few need");
  if constexpr (kOpens && kHasTraits && transport::Transport<T>) {
    row.endpoint = &typeid(T);
    row.many_queue_pairs = T::kManyQueuePairs;
    row.post_lists = T::kPostLists;
    row.open = [](const transport::EndpointRequest& request,
                  std::string_view choice) -> std::unique_ptr<Worker> {
      detail::check_operations<T>(request, transport::Operations{});
      return std::make_unique<WorkerOf<T>>(request, choice);
    };
    detail::add_backend(row);
  }
}

}  // namespace rdmabench::inline v1::run

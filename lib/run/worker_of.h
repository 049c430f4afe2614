// The Worker over one endpoint type: instantiated once for each, in a file that CMake writes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "rdmabench/base/error.h"
#include "run/pattern_table.h"
#include "run/worker.h"

namespace rdmabench::inline v1::run {

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
    prepared_ = entry(key);
    key_ = key;
    plan_ = bounded(plan);
    prepared_.prepare(endpoint(), key_, plan_);
  }

  void prepare_pattern(std::string_view pattern, const workload::LoopKey& key,
                       const workload::EpochPlan& plan) override {
    const detail::AnyLoop loop = find_pattern(pattern, typeid(T), key.side, key.validate);
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
  static workload::Entry<T> entry(const workload::LoopKey& key) {
    const workload::Entry<T> found = workload::find_loop<T>(key);
    if (found.loop == nullptr) {
      const bool load = key.shape == workload::Shape::load;
      throw Error(
          Fault::usage,
          fmt::format("{} of `operation` {} is not in this back end", load ? "load" : "a test",
                      transport::name(key.operation)),
          load ? "Answers that may come in any order need a number: take `operation` send-imm or "
                 "write-imm."
               : "Take another `operation` or `backend`.");
    }
    return found;
  }

  workload::Entry<T> prepared_;
  workload::LoopKey key_;
  workload::EpochPlan plan_;
  std::string memory_failure_;
};

template <class T>
std::unique_ptr<Worker> open_worker(const transport::EndpointRequest& request,
                                    std::string_view choice) {
  return std::make_unique<WorkerOf<T>>(request, choice);
}

}  // namespace rdmabench::inline v1::run

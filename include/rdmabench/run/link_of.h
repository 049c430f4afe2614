// The Link over one endpoint type: instantiated once for each, in a file that CMake writes.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/error.h"
#include "rdmabench/run/link.h"
#include "rdmabench/run/open_link.h"

namespace rdmabench::run {

template <transport::Transport T>
class LinkOf final : public Link {
 public:
  LinkOf(const transport::EndpointRequest& request, std::string_view choice)
      : endpoint_(request, choice) {}

  std::string address() const override { return endpoint_.address(); }
  void connect(std::string_view peer_address) override { endpoint_.connect(peer_address); }
  transport::Description describe() const override { return endpoint_.describe(); }
  std::string failure() const override { return endpoint_.failure(); }

  workload::EpochPlan bounded(workload::EpochPlan plan) const override {
    if constexpr (requires(const T& endpoint) {
                    endpoint.depth();
                    endpoint.receives();
                  }) {
      plan.depth = std::min(plan.depth, endpoint_.depth());
      plan.receives = std::min(plan.receives, endpoint_.receives());
      plan.post_list = std::min(plan.post_list, plan.depth);
    }
    return plan;
  }

  void stage(const workload::LoopKey& key, const workload::EpochPlan& plan) override {
    entry(key).stage(endpoint_, key, bounded(plan));
  }

  workload::EpochResult run(const workload::LoopKey& key, const workload::EpochPlan& plan,
                            workload::Watch& watch, std::span<measure::Ticks> intervals) override {
    return entry(key).loop(endpoint_, bounded(plan), watch, intervals);
  }

  void progress() noexcept override {
    endpoint_.poll([this](const transport::Received& received) noexcept {
      if (received.slot != transport::kNoSlot) endpoint_.post_receive(received.slot);
    });
  }

  std::string_view signal(transport::OperationCode operation) const override {
    using transport::OperationCode;
    if (transport::is_from_target(operation)) return "completion";
    if (operation == OperationCode::send || operation == OperationCode::send_imm) return "receive";
    return operation == OperationCode::write && T::kOrdersWrites ? "memory-poll" : "remote-cq-data";
  }

 private:
  static workload::Entry<T> entry(const workload::LoopKey& key) {
    const workload::Entry<T> found = workload::find_loop<T>(key);
    if (found.loop == nullptr) {
      const bool load = key.shape == workload::Shape::open_loop;
      throw Error(Fault::usage,
                  fmt::format("{} of --op {} is not in this back end", load ? "load" : "a test",
                              transport::name(key.operation)),
                  load ? "Answers that may come in any order need a number: take --op send-imm or "
                         "write-imm."
                       : "Take another --op or --backend.");
    }
    return found;
  }

  T endpoint_;
};

template <class T>
std::unique_ptr<Link> open_link(const transport::EndpointRequest& request,
                                std::string_view choice) {
  return std::make_unique<LinkOf<T>>(request, choice);
}

}  // namespace rdmabench::run

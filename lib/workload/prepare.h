// Readies an endpoint and its memory for an epoch.
#pragma once

#include "rdmabench/base/error.h"
#include "workload/counters.h"
#include "workload/epoch_content.h"
#include "workload/key.h"
#include "workload/ping_pong.h"

namespace rdmabench::inline v1::workload {

/// Throws Error(usage) for a plan that the loop of `key` could not keep.
void check_plan(const LoopKey& key, const EpochPlan& plan);

/// Throws Error(failed) where posts of before are under way: their completions would be taken for
/// ones of the epoch's.
void check_drained(std::uint64_t under_way);

/// What came too late for the last epoch must not pass for a message of this one.
template <transport::Transport T>
void discard_arrivals(T& endpoint) {
  const auto give_back = [&](const transport::Received& received) noexcept {
    if (received.slot != transport::kNoSlot) endpoint.post_receive(received.slot);
  };
  while (endpoint.poll(give_back) > 0) {
  }
}

/// Makes the endpoint and its memory ready for an epoch. Both sides do so before either starts: a
/// message may arrive before the target's loop has begun. Throws Error(usage) for a plan that
/// cannot be, and what check_drained() throws.
template <transport::Transport T, class WantedOp>
void prepare(T& endpoint, const LoopKey& key, const EpochPlan& plan) {
  check_plan(key, plan);
  check_drained(endpoint.posted() - endpoint.completed());
  if constexpr (!T::kReliable) discard_arrivals(endpoint);
  if (key.epoch_content || gpu_of(endpoint) != nullptr) {
    return prepare_content<T, WantedOp>(endpoint, key, plan);
  }
  const transport::Region window = endpoint.window();
  for (std::uint32_t slot = 0; slot < window.slots; ++slot) {
    const std::span<std::byte> message = message_in(window, slot, plan.size);
    if (WantedOp::kFromTarget && !WantedOp::kAtomic) {
      memory::fill_pattern(message, tag_of(slot));
    } else {
      clear(message);  // nothing has arrived yet, and counters begin at 0
    }
  }
}

}  // namespace rdmabench::inline v1::workload

// Latency of reads and atomics: one operation at a time, from the post to its data here.
#pragma once

#include <cstdint>
#include <span>

#include "rdmabench/measure/clock.h"
#include "workload/counters.h"

namespace rdmabench::workload {

/// The initiator: interval i is one whole operation; nothing is halved. Unless it validates, one
/// stamp ends an operation and begins the next. All act on slot 0: operation i finds the counter of
/// an atomic at i.
template <transport::Transport T, class Op, class Clock, bool kValidate>
EpochResult read_latency_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                                   std::span<measure::Ticks> intervals) noexcept {
  EpochResult result;
  Inbox<T> inbox(endpoint, plan, watch, result);
  const std::span<std::byte> fetched(endpoint.send_region().data, plan.size);
  const std::uint32_t queue_pairs = endpoint.queue_pairs();
  std::uint32_t queue_pair = 0;
  measure::Ticks last = Clock::stamp();
  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    if constexpr (kValidate) {
      if constexpr (Op::kAtomic) {
        clear_word(fetched);
      } else {
        clear(fetched);
      }
      last = Clock::stamp();
    }
    if (!inbox.template post<Op>({.local = 0, .remote = 0, .bytes = plan.size, .word = i},
                                 transport::Signal::now, queue_pair) ||
        !inbox.drain()) [[unlikely]] {
      result.message = i;
      return result;
    }
    const measure::Ticks now = Clock::stamp();
    intervals[i] = now - last;
    last = now;
    if constexpr (T::kManyQueuePairs) {
      if (++queue_pair == queue_pairs) queue_pair = 0;
    }
    if constexpr (kValidate) {
      const bool right = Op::kAtomic ? check_word(fetched, i, i, inbox, result)
                                     : check_message(fetched, i, tag_of(0), inbox, result);
      if (!right) return result;
    }
  }
  static_cast<void>(inbox.send_token() && inbox.wait_token());
  return result;
}

}  // namespace rdmabench::workload

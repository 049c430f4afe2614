// Latency of flushes: each message is written and then flushed, one at a time.
#pragma once

#include <cstdint>
#include <span>

#include "rdmabench/measure/clock.h"
#include "workload/slots.h"

namespace rdmabench::workload {

/// The initiator: interval i is from the post of the write to the completion of its flush. Unless
/// it validates, one stamp ends an interval and begins the next, and all messages go to slot 0.
/// With validation message i goes to slot i modulo the slots, and the target compares what lies
/// there at the end.
template <transport::Transport T, class Op, class Clock, bool kValidate>
EpochResult flush_latency_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                                    std::span<measure::Ticks> intervals) noexcept {
  EpochResult result;
  Inbox<T> inbox(endpoint, plan, watch, result);
  const transport::Region region = endpoint.send_region();
  const std::uint32_t queue_pairs = endpoint.queue_pairs();
  std::uint32_t queue_pair = 0;
  measure::Ticks last = Clock::stamp();
  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    const transport::Message message = to_slot(region, kValidate ? i : 0, plan.size, i);
    if constexpr (kValidate) {
      memory::fill_pattern(message_in(region, i, plan.size), tag_of(i));
      last = Clock::stamp();
    }
    if (!inbox.template post<transport::Write>(message, transport::Signal::by_interval,
                                               queue_pair) ||
        !inbox.template post<Op>(message, transport::Signal::now, queue_pair) || !inbox.drain())
        [[unlikely]] {
      result.message = i;
      return result;
    }
    const measure::Ticks now = Clock::stamp();
    intervals[i] = now - last;
    last = now;
    if constexpr (T::kManyQueuePairs) {
      if (++queue_pair == queue_pairs) queue_pair = 0;
    }
  }
  static_cast<void>(inbox.send_token() && inbox.wait_token());
  return result;
}

}  // namespace rdmabench::workload

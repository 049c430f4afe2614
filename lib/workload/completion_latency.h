// Latency of operations that are timed by their own completion: reads, atomics, and flushes, each
// of which follows its write.
#pragma once

#include <cstdint>
#include <span>

#include "rdmabench/measure/clock.h"
#include "workload/counters.h"

namespace rdmabench::inline v1::workload {

/// The initiator, one operation at a time: interval i is from the post, of a flush that of its
/// write, to the completion; nothing is halved. Unless it validates, one stamp ends an operation
/// and begins the next. All act on slot 0: operation i finds the counter of an atomic at i. With
/// validation flush i acts on slot i modulo the slots, which the target compares at the end.
template <transport::Transport T, class Op, class Clock, bool kValidate>
EpochResult completion_latency_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                                         std::span<measure::Ticks> intervals) noexcept {
  EpochResult result;
  EpochIo<T> io(endpoint, plan, watch, result);
  const transport::Region region = endpoint.send_region();
  const std::uint32_t queue_pairs = endpoint.queue_pairs();
  std::uint32_t queue_pair = 0;
  measure::Ticks last = Clock::stamp();
  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    const std::uint64_t slot = Op::kFlushes && kValidate ? i : 0;
    const transport::Message message = to_slot(region, slot, plan.size, i);
    if constexpr (kValidate) {
      prepare<Op>(message_in(region, slot, plan.size), i);
      last = Clock::stamp();
    }
    bool posted = true;
    if constexpr (Op::kFlushes) {
      posted =
          io.template post<transport::Write>(message, transport::Signal::by_interval, queue_pair);
    }
    if (!posted || !io.template post<Op>(message, transport::Signal::now, queue_pair) ||
        !io.drain()) [[unlikely]] {
      result.message = i;
      return result;
    }
    const measure::Ticks now = Clock::stamp();
    intervals[i] = now - last;
    last = now;
    next_queue_pair<T>(queue_pair, queue_pairs);
    if constexpr (kValidate && Op::kFromTarget) {
      if (!check_fetched<Op>(message_in(region, 0, plan.size), i, 1, io, result)) return result;
    }
  }
  static_cast<void>(io.send_marker() && io.wait_marker());
  return result;
}

}  // namespace rdmabench::inline v1::workload

// "Is one-sided really one-sided here?" A target that never polls, and an initiator that finds out
// whether its operations come to an end all the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <type_traits>

#include "rdmabench/measure/clock.h"
#include "workload/counters.h"

namespace rdmabench::inline v1::workload {

/// Reliable transports only: the target sends nothing here, so the completion is the only proof.
template <class T, class Op>
inline constexpr bool kHasIdleTarget =
    T::kReliable && !Op::kNotifies && (Op::kFromTarget || T::template supports<transport::Read>);

/// The initiator: one operation at a time, each waited for; interval i is its completion. A write
/// is followed by a read of the same bytes, which must bring back what was written: the completion
/// of a write alone may say no more than that it has left. Stalled: the target's processor is
/// needed.
/// The endpoint is opened for reads too.
template <transport::Transport T, class Op>
EpochResult idle_target_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                                  std::span<measure::Ticks> intervals) noexcept {
  EpochResult result;
  EpochIo<T> io(endpoint, plan, watch, result);
  const std::span<std::byte> message(endpoint.send_region().data, plan.size);
  result.begin = measure::stamp_now();
  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    result.message = i;
    prepare<Op>(message, i);
    const measure::Ticks begin = measure::stamp_now();
    const transport::Message slot{.local = 0, .remote = 0, .bytes = plan.size, .word = i};
    if (!io.template post<Op>(slot, transport::Signal::now) || !io.drain()) return result;
    intervals[i] = measure::stamp_now() - begin;
    if constexpr (Op::kFromTarget) {
      if (!check_fetched<Op>(message, i, 1, io, result)) return result;
    } else {
      clear(message);
      if (!io.template post<transport::Read>(slot, transport::Signal::now) || !io.drain() ||
          !check_message(message, i, tag_of(i), io, result)) {
        return result;
      }
    }
  }
  result.end = measure::stamp_now();
  return result;
}

/// The target: sleeps, and does not touch its endpoint until the initiator's result is on the
/// control channel (Watch::answered()) or the watch gives up.
template <transport::Transport T>
EpochResult idle_target(T& endpoint, const EpochPlan& /*plan*/, Watch& watch,
                        std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  watch.look_always();
  watch.watch_device(endpoint);
  while (!watch.answered()) {
    if (watch.give_up()) {
      result.outcome = watch.outcome();
      result.wait = Wait::confirmation;
      return result;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return result;
}

}  // namespace rdmabench::inline v1::workload

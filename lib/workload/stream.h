// Streaming: as many messages under way as the depth allows. Measures bandwidth and message rate.
#pragma once

#include <chrono>
#include <span>

#include "rdmabench/measure/clock.h"
#include "workload/arrivals.h"
#include "workload/pump.h"

namespace rdmabench::inline v1::workload {

/// The initiator. For sends and writes the clock stops at a receiver-confirmed point: when the
/// target has answered that everything arrived. Reads, atomics and flushes are complete when the
/// last completion is here.
template <transport::Transport T, class Op, bool kValidate, class Pace>
EpochResult stream_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                             std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  EpochIo<T> io(endpoint, plan, watch, result);
  Pace pace(plan);
  result.begin = measure::stamp_now();
  pace.start(result.begin);
  if (!pump<T, Op, kValidate>(endpoint, plan, io, result, pace)) return result;
  if constexpr (transport::is_timed_by_completion(Op::kCode)) {
    result.end = measure::stamp_now();
    static_cast<void>(io.send_marker() && io.wait_marker());
  } else if constexpr (!T::kReliable) {
    if (io.resend_marker()) result.end = measure::stamp_now();
  } else {
    // A target that is notified counts for itself; another has to be told that nothing more comes.
    if (!Op::kNotifies && !io.send_marker()) return result;
    if (io.wait_marker()) result.end = measure::stamp_now();
  }
  return result;
}

/// The target of operations that it is told of. It counts all of them, and then confirms. Where
/// they may be lost, it confirms when the initiator is done and no more come.
template <transport::Transport T, class Op, bool kValidate>
EpochResult stream_target(T& endpoint, const EpochPlan& plan, Watch& watch,
                          std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  EpochIo<T> io(endpoint, plan, watch, result);
  Arrivals<T, Op, kValidate> arrivals(endpoint, plan, io, result);
  ArrivalTimeout timeout;
  bool told = false;
  const auto on_receive = [&](const transport::Received& received) noexcept {
    if constexpr (!T::kReliable) {
      if (received.bytes == 0) {
        told = true;
        return io.give_back(received.slot);
      }
    }
    arrivals.add(received);
  };
  while (!arrivals.all() && !(told && timeout.passed(arrivals.count()))) {
    if (!io.poll(Wait::message, on_receive)) {
      if (!is_about_data(result.outcome)) result.message = arrivals.count();
      return result;
    }
    if (result.outcome != Outcome::ok) return result;
  }
  result.message = arrivals.count();
  if (arrivals.check_all()) io.send_marker();
  return result;
}

/// The target of operations that give it no completion. It polls until the initiator's marker
/// comes, checks its window, and confirms.
///
/// If no CPU is needed here and the initiator has stopped its clock before its marker comes (reads,
/// atomics), this sleeps between polls. For writes the initiator's clock runs until our
/// confirmation, so this spins.
template <transport::Transport T, class Op, bool kValidate>
EpochResult one_sided_target(T& endpoint, const EpochPlan& plan, Watch& watch,
                             std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  EpochIo<T> io(endpoint, plan, watch, result);
  constexpr bool kNaps = transport::is_timed_by_completion(Op::kCode) && !T::kNeedsProgress;
  if (!io.wait_marker(std::chrono::microseconds(kNaps ? 1000 : 0))) return result;
  EpochPlan whole = plan;
  if (!io.settle(whole)) return result;
  if (check_window_after<Op, kValidate>(endpoint, whole, io, result)) io.send_marker();
  return result;
}

}  // namespace rdmabench::inline v1::workload

// Streaming: as many messages under way as the depth allows. Measures bandwidth and message rate.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include "rdmabench/measure/clock.h"
#include "rdmabench/workload/pump.h"
#include "rdmabench/workload/slots.h"

namespace rdmabench::inline v1::workload {

/// How many messages have arrived, and when a target has to look up: what is the same for every
/// operation, so that a program has it once for each endpoint type.
template <transport::Transport T>
class ArrivalProgress {
 public:
  std::uint64_t count() const noexcept { return result_.arrived; }
  bool all() noexcept { return count() >= look_at_ && look(); }

 protected:
  ArrivalProgress(const EpochPlan& plan, EpochIo<T>& io, EpochResult& result) noexcept
      : plan_(plan),
        extent_{.iterations = plan.iterations, .whole = !plan.grows},
        io_(io),
        result_(result) {
    divide();
  }

  const EpochPlan& plan_;
  Extent extent_;
  EpochIo<T>& io_;
  EpochResult& result_;

 private:
  /// In parts, as a pump: a peer that has gone is to be seen within a long epoch too.
  void divide() noexcept {
    constexpr std::uint64_t kParts = 32;
    part_ = (extent_.iterations - count() + kParts - 1) / kParts;
    look_at_ = count() + part_;
  }

  [[gnu::noinline]] bool look() noexcept {
    if (count() < extent_.iterations) {
      look_at_ = std::min(extent_.iterations, count() + part_);
      io_.goes_on(Wait::message, count());
      return false;
    }
    return extent_.whole || no_more();
  }

  bool no_more() noexcept {
    if (!io_.extend(extent_)) return false;
    if (count() < extent_.iterations) divide();
    return extent_.whole && count() >= extent_.iterations;
  }

  std::uint64_t part_ = 0;
  std::uint64_t look_at_ = 0;
};

/// Counts messages that complete a receive on this side. Immediates are always compared, data on
/// request. With ordered messages each is compared with its expected content. Otherwise each is
/// checked for consistency, and the sums are compared once all have arrived.
template <transport::Transport T, class Op, bool kValidate>
class Arrivals : public ArrivalProgress<T> {
  using Progress = ArrivalProgress<T>;

 public:
  using Progress::all;
  using Progress::count;

  Arrivals(T& endpoint, const EpochPlan& plan, EpochIo<T>& io, EpochResult& result) noexcept
      : Progress(plan, io, result), endpoint_(endpoint) {}

  void add(const transport::Received& received) noexcept {
    if (!has_length(received, plan_.size)) complain(Outcome::wrong_size);
    if constexpr (Op::kImmediate) {
      immediates_ += received.immediate;
      if (kInOrder && received.immediate != static_cast<std::uint32_t>(count())) {
        complain(Outcome::wrong_immediate);
      }
    }
    if constexpr (kValidate && Op::kTwoSided) {
      const auto message = message_in(endpoint_.receive_region(), received.slot, plan_.size);
      const auto tag = kInOrder ? tag_of(count()) : static_cast<std::uint8_t>(message.back());
      tags_ += tag;
      check_message<T>(message, count(), tag, io_, result_);
    }
    ++result_.arrived;
    io_.give_back_together(received.slot);
  }

  /// After the last message; for writes with immediate their window too.
  bool check_all() noexcept {
    if (!T::kReliable && !all()) return true;  // what was lost has no sum
    const std::uint64_t n = extent_.iterations;
    if (count() != n) return complain(Outcome::wrong_messages);
    if constexpr (Op::kImmediate) {
      // Immediates have 32 bits; run/ keeps epochs below that.
      if (immediates_ != n * (n - 1) / 2) return complain(Outcome::wrong_immediate);
    }
    if constexpr (kValidate && Op::kTwoSided) {
      constexpr std::uint64_t kCycle = 255, kCycleSum = 255 * 256 / 2;
      const std::uint64_t rest = n % kCycle;
      if (tags_ != n / kCycle * kCycleSum + rest * (rest + 1) / 2) {
        return complain(Outcome::wrong_messages);
      }
    }
    if constexpr (kValidate && !Op::kTwoSided) {
      EpochPlan whole = plan_;
      whole.iterations = n;
      return check_window(endpoint_, whole, io_, result_);
    }
    return true;
  }

 private:
  using Progress::extent_;
  using Progress::io_;
  using Progress::plan_;
  using Progress::result_;

  static constexpr bool kInOrder = T::kOrdersMessages && T::kReliable;

  bool complain(Outcome outcome) noexcept {
    return workload::complain(io_, result_, outcome, count());
  }

  T& endpoint_;
  std::uint64_t immediates_ = 0;
  std::uint64_t tags_ = 0;
};

/// For transports that may lose messages: a message that has not arrived 50 ms after the sender's
/// end counts as lost.
class ArrivalTimeout {
 public:
  bool passed(std::uint64_t arrived) noexcept {
    constexpr auto kLongEnough = std::chrono::milliseconds(50);
    const auto now = std::chrono::steady_clock::now();
    if (!begun_ || arrived != arrived_) since_ = now;
    begun_ = true;
    arrived_ = arrived;
    return now - since_ >= kLongEnough;
  }

 private:
  bool begun_ = false;
  std::uint64_t arrived_ = 0;
  std::chrono::steady_clock::time_point since_{};
};

/// The initiator. For sends and writes the clock stops at a receiver-confirmed point: when the
/// target has answered that everything arrived. Reads, atomics and flushes are complete when the
/// last completion is here.
template <transport::Transport T, class Op, bool kValidate = false, class Pace = Unpaced>
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
template <transport::Transport T, class Op, bool kValidate = false>
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
template <transport::Transport T, class Op, bool kValidate = false>
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

// The open loop: messages leave at a given rate, whether or not the ones before were answered.
// Measures latency under load.
//
// A closed loop sends nothing while its target stalls, and so sees one slow message where users
// would see many ("coordinated omission"; Tene, "How NOT to Measure Latency", 2013). Here every
// message is timed from when it was meant to leave, and one that leaves late does not put off the
// next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rdmabench/measure/clock.h"
#include "rdmabench/workload/pump.h"
#include "rdmabench/workload/slots.h"

namespace rdmabench::inline v1::workload {

/// Whether each answer tells which message it is for: by the order of answers or of completions, or
/// by the immediate. On a transport that may lose messages, a lost one would keep its slot occupied
/// for ever.
template <class T, class Op>
inline constexpr bool kHasOpenLoop = T::kReliable &&
                                     (T::kOrdersMessages || (Op::kNotifies && Op::kImmediate));

/// The initiator's side. A message is answered by the target's echo where the target is told of it,
/// else by its own completion.
///
/// At most `depth` on each queue pair are unanswered at a time, so that each finds a receive at the
/// other side; what has to wait for that waits here, and its latency shows it.
template <transport::Transport T, class Op, class Clock, bool kValidate>
class OpenLoop {
 public:
  OpenLoop(T& endpoint, const EpochPlan& plan, Watch& watch, std::span<measure::Ticks> intervals,
           EpochResult& result)
      : endpoint_(endpoint),
        plan_(plan),
        intervals_(intervals),
        result_(result),
        io_(endpoint, plan, watch, result),
        region_(endpoint.send_region()),
        queue_pairs_(endpoint.queue_pairs()),
        slots_(used_slots<Op>(region_, queue_pairs_)),
        limit_(most_unanswered(plan, queue_pairs_)),
        completed_before_(endpoint.completed()),
        gaps_(plan.arrivals, plan.gap_q16),
        schedule_(0) {
    if (kValidate) limit_ = std::min<std::uint64_t>(limit_, slots_);
    std::fill_n(intervals_.begin(), plan.iterations, kUnanswered);
  }

  static std::uint64_t most_unanswered(const EpochPlan& plan, std::uint32_t queue_pairs) noexcept {
    const std::uint32_t each = Op::kNotifies ? std::min(plan.depth, plan.receives) : plan.depth;
    return std::uint64_t{each} * queue_pairs;
  }

  bool run() noexcept {
    result_.begin = Clock::stamp();
    gaps_.seed(result_.begin);
    schedule_ = Schedule(result_.begin - static_cast<measure::Ticks>(plan_.behind));
    while (answered_ < plan_.iterations) {
      if (!post_if_due() || !take_answers()) {
        if (!is_about_data(result_.outcome)) result_.message = answered_;
        return false;
      }
    }
    result_.end = Clock::stamp();
    result_.behind = static_cast<std::int64_t>(result_.end - schedule_.due());
    return io_.drain();
  }

  /// A target that does not echo waits for a marker.
  bool finish() noexcept {
    if constexpr (Op::kNotifies) return true;
    return io_.send_marker() && io_.wait_marker();
  }

 private:
  /// In intervals_, until the answer: the bit, and when the message was due.
  static constexpr measure::Ticks kUnanswered = measure::Ticks{1} << 63;

  /// One message, so that answers are looked for between any two.
  bool post_if_due() noexcept {
    if (next_ == plan_.iterations || !has_room()) return true;
    const measure::Ticks now = Clock::stamp();
    const measure::Ticks due = schedule_.due();
    if (now < due) {
      if (next_ == answered_) io_.nothing_due();
      return true;
    }
    fill();
    // Where completions are the answers each is asked for, so that none waits for a later one.
    const bool signalled = !Op::kNotifies || next_ + queue_pairs_ >= plan_.iterations;
    const std::uint64_t offset = slot_ * region_.stride;
    const transport::PostStatus status = endpoint_.template post<Op>(
        offset, offset, plan_.size, Op::kAtomic ? next_ / slots_ : next_,
        signalled ? transport::Signal::now : transport::Signal::by_interval, queue_pair_);
    if (status == transport::PostStatus::busy) return true;
    if (status == transport::PostStatus::failed) {
      return io_.end(Outcome::post_failed, Wait::nothing);
    }
    result_.lag = std::max(result_.lag, now - due);
    intervals_[next_] = due | kUnanswered;
    ++next_;
    schedule_.advance(gaps_.next());
    if (++slot_ == slots_) slot_ = 0;
    next_queue_pair<T>(queue_pair_, queue_pairs_);
    return true;
  }

  /// With validation also in the slot: what was sent from it has been answered.
  bool has_room() const noexcept {
    if (next_ - answered_ >= limit_) return false;
    if constexpr (kValidate && !T::kOrdersMessages) {
      return next_ < slots_ || !is_unanswered(next_ - slots_);
    }
    return true;
  }

  bool is_unanswered(std::uint64_t k) const noexcept { return (intervals_[k] & kUnanswered) != 0; }

  void fill() noexcept {
    if constexpr (kValidate) prepare<Op>(message_in(region_, slot_, plan_.size), next_);
  }

  bool take_answers() noexcept {
    if constexpr (Op::kNotifies) {
      const bool going =
          io_.poll_once(Wait::message, [this](const transport::Received& received) noexcept {
            echoed(received, Clock::stamp());
            io_.give_back(received.slot);
          });
      return going && result_.outcome == Outcome::ok;
    } else {
      if (!io_.poll_once(Wait::completion)) return false;
      const std::uint64_t completed = endpoint_.completed() - completed_before_;
      if (answered_ == completed) return true;
      const measure::Ticks now = Clock::stamp();
      while (answered_ < completed) {
        if constexpr (kValidate && Op::kFromTarget) {
          const auto message = message_in(region_, answered_ % slots_, plan_.size);
          if (!check_fetched<Op>(message, answered_, slots_, io_, result_)) return false;
        }
        answer(answered_, now);
      }
      return true;
    }
  }

  void answer(std::uint64_t k, measure::Ticks now) noexcept {
    intervals_[k] = now - (intervals_[k] & ~kUnanswered);
    ++answered_;
  }

  void echoed(const transport::Received& received, measure::Ticks now) noexcept {
    const std::uint64_t k = T::kOrdersMessages ? answered_ : received.immediate;
    if (!has_length(received, plan_.size)) return complain(Outcome::wrong_size, k);
    if (Op::kImmediate && received.immediate != static_cast<std::uint32_t>(k)) {
      return complain(Outcome::wrong_immediate, k);
    }
    // An answer to what was not asked, or a second one.
    if (k >= next_ || !is_unanswered(k)) return complain(Outcome::wrong_messages, k);
    if constexpr (kValidate) {
      const auto message = Op::kTwoSided
                               ? message_in(endpoint_.receive_region(), received.slot, plan_.size)
                               : message_in(endpoint_.window(), k % slots_, plan_.size);
      if (!check_message<T>(message, k, tag_of(k), io_, result_)) return;
    }
    answer(k, now);
  }

  void complain(Outcome outcome, std::uint64_t k) noexcept {
    workload::complain(io_, result_, outcome, k);
  }

  T& endpoint_;
  const EpochPlan& plan_;
  std::span<measure::Ticks> intervals_;
  EpochResult& result_;
  EpochIo<T> io_;
  transport::Region region_;
  std::uint32_t queue_pairs_;
  std::uint32_t slots_;
  std::uint64_t limit_;
  std::uint64_t completed_before_;  ///< this epoch
  Gaps gaps_;
  Schedule schedule_;
  std::uint64_t next_ = 0;
  std::uint64_t answered_ = 0;
  std::uint32_t slot_ = 0;
  std::uint32_t queue_pair_ = 0;
};

/// intervals[k]: from when message k was meant to leave to when its answer was here. A full round
/// trip or completion, never halved.
template <transport::Transport T, class Op, class Clock = measure::ChosenClock,
          bool kValidate = false>
EpochResult open_loop_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                                std::span<measure::Ticks> intervals) noexcept {
  EpochResult result;
  OpenLoop<T, Op, Clock, kValidate> loop(endpoint, plan, watch, intervals, result);
  static_cast<void>(loop.run() && loop.finish());
  return result;
}

// The target of an open loop: sends each message back, several at a time.

/// The answer to message k carries the immediate k and, when validating, the same pattern, from
/// slot k % slots: the initiator sends k only after it has received the last answer from that slot.
template <transport::Transport T, class Op, bool kValidate>
class Echo {
 public:
  Echo(T& endpoint, const EpochPlan& plan, Watch& watch, EpochResult& result)
      : endpoint_(endpoint),
        plan_(plan),
        result_(result),
        io_(endpoint, plan, watch, result),
        region_(endpoint.send_region()),
        queue_pairs_(endpoint.queue_pairs()),
        owed_(std::uint64_t{plan.receives} * queue_pairs_) {}

  bool run() noexcept {
    while (answered_ < plan_.iterations) {
      if (!answer_all() || !take()) {
        if (!is_about_data(result_.outcome)) result_.message = result_.arrived;
        return false;
      }
    }
    result_.message = answered_;
    return io_.drain();
  }

 private:
  bool take() noexcept {
    const auto on_receive = [this](const transport::Received& received) noexcept {
      arrived(received);
      io_.give_back(received.slot);
    };
    const bool pending = answered_ < result_.arrived;
    const bool going = pending ? io_.poll_once(Wait::room_to_post, on_receive)
                               : io_.poll(Wait::message, on_receive);
    return going && result_.outcome == Outcome::ok;
  }

  void arrived(const transport::Received& received) noexcept {
    const std::uint64_t k = T::kOrdersMessages ? result_.arrived : received.immediate;
    if (!has_length(received, plan_.size)) return complain(Outcome::wrong_size, k);
    if (Op::kImmediate && received.immediate != static_cast<std::uint32_t>(k)) {
      return complain(Outcome::wrong_immediate, k);
    }
    if (k >= plan_.iterations || result_.arrived - answered_ >= owed_.size()) {
      return complain(Outcome::wrong_messages, k);
    }
    if constexpr (kValidate) {
      const auto message = Op::kTwoSided
                               ? message_in(endpoint_.receive_region(), received.slot, plan_.size)
                               : message_in(endpoint_.window(), k, plan_.size);
      if (!check_message<T>(message, k, tag_of(k), io_, result_)) return;
    }
    owed_[result_.arrived % owed_.size()] = static_cast<std::uint32_t>(k);
    ++result_.arrived;
  }

  bool answer_all() noexcept {
    while (answered_ < result_.arrived) {
      const std::uint64_t k = owed_[answered_ % owed_.size()];
      if constexpr (kValidate) {
        memory::fill_pattern(message_in(region_, k, plan_.size), tag_of(k));
      }
      const std::uint64_t offset = k % region_.slots * region_.stride;
      const transport::PostStatus status = endpoint_.template post<Op>(
          offset, offset, plan_.size, k,
          answered_ + queue_pairs_ >= plan_.iterations ? transport::Signal::now
                                                       : transport::Signal::by_interval,
          queue_pair_);
      if (status == transport::PostStatus::busy) return true;
      if (status == transport::PostStatus::failed) {
        return io_.end(Outcome::post_failed, Wait::nothing);
      }
      ++answered_;
      next_queue_pair<T>(queue_pair_, queue_pairs_);
    }
    return true;
  }

  void complain(Outcome outcome, std::uint64_t k) noexcept {
    workload::complain(io_, result_, outcome, k);
  }

  T& endpoint_;
  const EpochPlan& plan_;
  EpochResult& result_;
  EpochIo<T> io_;
  transport::Region region_;
  std::uint32_t queue_pairs_;
  std::uint32_t queue_pair_ = 0;
  std::vector<std::uint32_t> owed_;  ///< a ring: messages that were not answered yet
  std::uint64_t answered_ = 0;
};

template <transport::Transport T, class Op, bool kValidate = false>
EpochResult echo_target(T& endpoint, const EpochPlan& plan, Watch& watch,
                        std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  Echo<T, Op, kValidate> echo(endpoint, plan, watch, result);
  echo.run();
  return result;
}

}  // namespace rdmabench::inline v1::workload

// Latency, one message at a time: ping-pong, operations that are timed by their own completion, and
// those at a target that never polls.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <type_traits>

#include "rdmabench/measure/clock.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/workload/epoch_io.h"
#include "rdmabench/workload/slots.h"

namespace rdmabench::inline v1::workload {

// Ping-pong: one message there, one back, and again. Measures round trips.

/// What the receive of a ping-pong brought. It knows no operation, so that a program has the poll
/// for it once for each endpoint type.
struct Answer {
  std::uint64_t size;  ///< that it should have
  std::uint32_t slot = 0;
  std::uint32_t immediate = 0;
  bool right_size = false;
  bool arrived = false;

  void operator()(const transport::Received& received) noexcept {
    arrived = true;
    slot = received.slot;
    immediate = received.immediate;
    right_size = has_length(received, size);
  }
};

/// One side of a ping-pong: writes, posts, waits for and checks message i. Where Op leaves no
/// completion at the target, its last byte is polled: for messages within both sides' write_order()
/// alone. For others the caller takes an Op with an immediate.
template <transport::Transport T, class Op, bool kValidate>
class PingPong {
 public:
  static constexpr bool kByMemory = !Op::kNotifies;

  PingPong(T& endpoint, const EpochPlan& plan, Watch& watch, EpochResult& result)
      : endpoint_(endpoint),
        io_(endpoint, plan, watch, result),
        result_(result),
        outgoing_(endpoint.send_region().data, plan.size),
        window_(endpoint.window().data, plan.size),
        queue_pairs_(endpoint.queue_pairs()),
        half_depth_(std::uint64_t{plan.depth} * queue_pairs_ / 2),
        tail_(plan.iterations - std::min<std::uint64_t>(plan.iterations, queue_pairs_)),
        answer_{.size = plan.size} {}

  /// Message i is written before it is posted; with validation that takes a while.
  void write(std::uint64_t i) noexcept {
    if constexpr (kValidate) {
      memory::fill_pattern(outgoing_, tag_of(i));
    } else if constexpr (kByMemory) {
      outgoing_.back() = std::byte{tag_of(i)};
    }
  }

  /// Each message on the next queue pair, and the last one of every queue pair asks for a
  /// completion.
  bool post(std::uint64_t i) noexcept {
    const auto signal = i >= tail_ ? transport::Signal::now : transport::Signal::by_interval;
    if constexpr (T::kManyQueuePairs) {
      if (++queue_pair_ >= queue_pairs_) queue_pair_ = 0;
    }
    return io_.template post<Op>({.local = 0, .remote = 0, .bytes = outgoing_.size(), .word = i},
                                 signal, queue_pair_);
  }

  /// Housekeeping while the message is in flight, so that it adds to no round trip: the receive
  /// that the last message took goes back, and completions are reaped before the send queue fills
  /// up.
  bool tidy() noexcept {
    if constexpr (!kByMemory) {
      if (answer_.arrived) io_.give_back(answer_.slot);
      answer_.arrived = false;
    } else if (endpoint_.posted() - endpoint_.completed() > half_depth_) {
      return io_.poll_once(Wait::completion);
    }
    return true;
  }

  bool wait(std::uint64_t i) noexcept {
    if constexpr (kByMemory) {
      while (last_byte() != std::byte{tag_of(i)}) {
        if (!io_.idle(Wait::message)) return false;
      }
    } else {
      while (!answer_.arrived) {
        if (!io_.poll(Wait::message, answer_)) return false;
      }
      if (!answer_.right_size) return io_.end(Outcome::wrong_size, Wait::nothing);
      if constexpr (Op::kImmediate) {
        if (answer_.immediate != static_cast<std::uint32_t>(i)) {
          return io_.end(Outcome::wrong_immediate, Wait::nothing);
        }
      }
    }
    return true;
  }

  bool check(std::uint64_t i) noexcept {
    if constexpr (kValidate) {
      const auto wrong = memory::find_mismatch(incoming(), tag_of(i));
      if (wrong) {
        result_.byte = *wrong;
        return io_.end(Outcome::wrong_data, Wait::nothing);
      }
      ++result_.checked;
    }
    return true;
  }

  bool finish() noexcept { return tidy() && io_.drain(); }

 private:
  /// Of the window. What is written as one word is read as one.
  std::byte last_byte() const noexcept {
    if constexpr (Op::kBytes == sizeof(std::uint64_t)) {
      const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(window_.data()));
      return std::bit_cast<std::array<std::byte, sizeof(std::uint64_t)>>(
                 word.load(std::memory_order_acquire))
          .back();
    } else {
      return std::atomic_ref(window_.back()).load(std::memory_order_acquire);
    }
  }

  std::span<const std::byte> incoming() const noexcept {
    if constexpr (!Op::kTwoSided) return window_;
    const transport::Region region = endpoint_.receive_region();
    return {region.data + answer_.slot % region.slots * region.stride, outgoing_.size()};
  }

  T& endpoint_;
  EpochIo<T> io_;
  EpochResult& result_;
  std::span<std::byte> outgoing_;
  std::span<std::byte> window_;
  std::uint32_t queue_pairs_;
  std::uint64_t half_depth_;
  std::uint64_t tail_;  ///< index of the first message that is the last one of its queue pair
  std::uint32_t queue_pair_ = T::kManyQueuePairs ? ~0U : 0;  ///< of the message posted last
  Answer answer_;
};

/// The initiator: interval i is one round trip, from before the post to after the reply was seen.
///
/// Without validation one stamp ends a round trip and begins the next, so nothing the initiator
/// does is left out. With validation, writing and checking its own buffers happens between two
/// stamps; the target's writing and checking is inside the round trip, and the result says that it
/// was validated.
template <transport::Transport T, class Op, class Clock = measure::ChosenClock,
          bool kValidate = false>
EpochResult ping_pong_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                                std::span<measure::Ticks> intervals) noexcept {
  EpochResult result;
  PingPong<T, Op, kValidate> side(endpoint, plan, watch, result);
  measure::Ticks last = Clock::stamp();
  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    side.write(i);
    if constexpr (kValidate) last = Clock::stamp();
    if (!side.post(i) || !side.tidy() || !side.wait(i)) [[unlikely]] {
      result.message = i;
      return result;
    }
    const measure::Ticks now = Clock::stamp();
    intervals[i] = now - last;
    last = now;
    if (!side.check(i)) [[unlikely]] {
      result.message = i;
      return result;
    }
  }
  side.finish();
  return result;
}

/// The target: waits first, then answers.
template <transport::Transport T, class Op, bool kValidate = false>
EpochResult ping_pong_target(T& endpoint, const EpochPlan& plan, Watch& watch,
                             std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  PingPong<T, Op, kValidate> side(endpoint, plan, watch, result);
  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    if (side.wait(i) && side.check(i)) [[likely]] {
      side.write(i);
      if (side.post(i) && side.tidy()) [[likely]]
        continue;
    }
    result.message = i;
    return result;
  }
  side.finish();
  return result;
}

// Latency of operations that are timed by their own completion: reads, atomics, and flushes, each
// of which follows its write.

/// The initiator, one operation at a time: interval i is from the post, of a flush that of its
/// write, to the completion; nothing is halved. Unless it validates, one stamp ends an operation
/// and begins the next. All act on slot 0: operation i finds the counter of an atomic at i. With
/// validation flush i acts on slot i modulo the slots, which the target compares at the end.
template <transport::Transport T, class Op, class Clock = measure::ChosenClock,
          bool kValidate = false>
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

// "Is one-sided really one-sided here?" A target that never polls, and an initiator that finds out
// whether its operations come to an end all the same.

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

// Streaming: as many messages under way as the depth allows. Measures bandwidth and message rate.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <type_traits>

#include "rdmabench/measure/clock.h"
#include "rdmabench/memory/pattern.h"
#include "rdmabench/workload/inbox.h"

namespace rdmabench::workload {

/// Bytes of slot `index` in which a message of `size` lies.
inline std::span<std::byte> message_in(const transport::Region& region, std::uint64_t index,
                                       std::uint64_t size) noexcept {
  return {region.data + index % region.slots * region.stride, size};
}

/// Data of before must not pass for new: a cleared message ends in 0, which is no tag.
inline void clear(std::span<std::byte> message) noexcept {
  std::fill(message.begin(), message.end(), std::byte{0});
}

/// Compares every byte of message i with the pattern.
template <transport::Transport T>
bool check_message(std::span<const std::byte> message, std::uint64_t i, std::uint8_t tag,
                   Inbox<T>& inbox, EpochResult& result) noexcept {
  const auto wrong = memory::find_mismatch(message, tag);
  if (wrong) {
    result.message = i;
    result.byte = *wrong;
    return inbox.end(Outcome::wrong_data, Wait::nothing);
  }
  ++result.checked;
  return true;
}

/// Every slot of the window must hold the last message written there, once all writes have landed.
template <transport::Transport T>
bool check_window(T& endpoint, const EpochPlan& plan, Inbox<T>& inbox,
                  EpochResult& result) noexcept {
  const transport::Region window = endpoint.window();
  const std::uint64_t used = std::min<std::uint64_t>(window.slots, plan.iterations);
  for (std::uint64_t i = plan.iterations - used; i < plan.iterations; ++i) {
    if (!check_message(message_in(window, i, plan.size), i, tag_of(i), inbox, result)) return false;
  }
  return true;
}

/// Posts messages up to index `last`, as many at a time as there is room for, and waits until all
/// have completed. Message i uses slot i % slots and carries i as its immediate.
template <class Op, bool kValidate, transport::Transport T>
bool pump(T& endpoint, const EpochPlan& plan, std::uint64_t last, Inbox<T>& inbox,
          EpochResult& result) noexcept {
  const transport::Region region = endpoint.send_region();
  const std::uint64_t limit = region.stride * region.slots;
  std::uint64_t offset = endpoint.posted() % region.slots * region.stride;
  while (endpoint.completed() < last) {
    while (endpoint.posted() < last) {
      const std::uint64_t i = endpoint.posted();
      if constexpr (kValidate && !Op::kFromTarget) {
        if (i - endpoint.completed() >= region.slots) break;  // its slot is still being sent
        memory::fill_pattern(message_in(region, i, plan.size), tag_of(i));
      }
      const transport::PostStatus status = endpoint.template post<Op>(
          offset, static_cast<std::uint32_t>(i),
          i + 1 == last ? transport::Signal::now : transport::Signal::by_interval);
      if (status == transport::PostStatus::busy) break;
      if (status == transport::PostStatus::failed) {
        result.message = i;
        return inbox.end(Outcome::post_failed, Wait::nothing);
      }
      offset += region.stride;
      if (offset == limit) offset = 0;
    }
    if (!inbox.poll(Wait::completion)) {
      result.message = endpoint.completed();
      return false;
    }
  }
  result.message = last;
  return true;
}

/// The initiator of sends and writes. The clock stops at a receiver-confirmed point: when the
/// target has answered that everything arrived.
template <transport::Transport T, class Op, class Clock, bool kValidate>
EpochResult stream_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                             std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  Inbox<T> inbox(endpoint, plan, watch, result);
  result.begin = Clock::stamp();
  // Where completions come out of order, their number does not say which slot is free. So when
  // every slot matters they are all used once, and then waited for.
  const std::uint64_t lap =
      kValidate && !T::kOrdersMessages ? endpoint.send_region().slots : plan.iterations;
  for (std::uint64_t last = 0; last < plan.iterations;) {
    last = std::min(plan.iterations, last + lap);
    if (!pump<Op, kValidate>(endpoint, plan, last, inbox, result)) return result;
  }
  // A target that is notified counts for itself; another has to be told that nothing more comes.
  if (!Op::kNotifies && !inbox.send_token()) return result;
  if (inbox.wait_token()) result.end = Clock::stamp();
  return result;
}

/// The initiator of reads, whose data is complete when the last completion is here. When it
/// validates, it reads every slot once, checks all of them, and goes on.
template <transport::Transport T, class Op, class Clock, bool kValidate>
EpochResult read_stream_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                                  std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  Inbox<T> inbox(endpoint, plan, watch, result);
  const transport::Region region = endpoint.send_region();
  const std::uint64_t n = plan.iterations;
  const std::uint64_t lap = kValidate ? region.slots : n;
  result.begin = Clock::stamp();
  for (std::uint64_t first = 0; first < n; first += lap) {
    const std::uint64_t last = std::min(n, first + lap);
    if constexpr (kValidate) {
      for (std::uint64_t i = first; i < last; ++i) {
        clear(message_in(region, i, plan.size));
      }
    }
    if (!pump<Op, kValidate>(endpoint, plan, last, inbox, result)) return result;
    if constexpr (kValidate) {
      for (std::uint64_t i = first; i < last; ++i) {
        if (!check_message(message_in(region, i, plan.size), i, tag_of(i % region.slots), inbox,
                           result)) {
          return result;
        }
      }
    }
  }
  result.end = Clock::stamp();
  static_cast<void>(inbox.send_token() && inbox.wait_token());
  return result;
}

/// What a target that is notified of every message compares as they arrive: immediates always, data
/// on request. Where the transport keeps messages in order, each one with what it must be;
/// elsewhere each message with itself, and the sums of all.
template <transport::Transport T, class Op, bool kValidate>
class Arrivals {
 public:
  Arrivals(T& endpoint, const EpochPlan& plan, Inbox<T>& inbox, EpochResult& result) noexcept
      : endpoint_(endpoint), plan_(plan), inbox_(inbox), result_(result) {}

  std::uint64_t count() const noexcept { return count_; }

  void add(const transport::Received& received) noexcept {
    if (received.bytes != plan_.size) complain(Outcome::wrong_size);
    if constexpr (Op::kImmediate) {
      immediates_ += received.immediate;
      if (T::kOrdersMessages && received.immediate != static_cast<std::uint32_t>(count_)) {
        complain(Outcome::wrong_immediate);
      }
    }
    if constexpr (kValidate && Op::kTwoSided) {
      const auto message = message_in(endpoint_.receive_region(), received.slot, plan_.size);
      const auto tag =
          T::kOrdersMessages ? tag_of(count_) : static_cast<std::uint8_t>(message.back());
      tags_ += tag;
      check_message<T>(message, count_, tag, inbox_, result_);
    }
    ++count_;
    inbox_.give_back(received.slot);
  }

  /// After the last message.
  bool check_sums() noexcept {
    const std::uint64_t n = plan_.iterations;
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
    return true;
  }

 private:
  bool complain(Outcome outcome) noexcept {
    if (result_.outcome == Outcome::ok) result_.message = count_;
    return inbox_.end(outcome, Wait::nothing);
  }

  T& endpoint_;
  const EpochPlan& plan_;
  Inbox<T>& inbox_;
  EpochResult& result_;
  std::uint64_t count_ = 0;
  std::uint64_t immediates_ = 0;
  std::uint64_t tags_ = 0;
};

/// The target of operations that it is told of. It counts all of them, and then confirms.
template <transport::Transport T, class Op, class Clock, bool kValidate>
EpochResult stream_target(T& endpoint, const EpochPlan& plan, Watch& watch,
                          std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  Inbox<T> inbox(endpoint, plan, watch, result);
  Arrivals<T, Op, kValidate> arrivals(endpoint, plan, inbox, result);
  const auto on_receive = [&](const transport::Received& received) noexcept {
    arrivals.add(received);
  };
  while (arrivals.count() < plan.iterations) {
    if (!inbox.poll(Wait::message, on_receive) || result.outcome != Outcome::ok) return result;
    result.message = arrivals.count();
  }
  if (!arrivals.check_sums()) return result;
  if constexpr (kValidate && !Op::kTwoSided) {
    if (!check_window(endpoint, plan, inbox, result)) return result;
  }
  inbox.send_token();
  return result;
}

/// The target of operations that it is not told of: it lends its progress until the initiator's
/// token, checks what was written, and confirms.
template <transport::Transport T, class Op, class Clock, bool kValidate>
EpochResult quiet_target(T& endpoint, const EpochPlan& plan, Watch& watch,
                         std::span<measure::Ticks> /*intervals*/) noexcept {
  EpochResult result;
  Inbox<T> inbox(endpoint, plan, watch, result);
  // A read needs nothing of this side's processor where the device serves it, so none is taken: the
  // initiator's clock has stopped when the token comes. A write's still runs, and waits for our
  // answer.
  constexpr bool kIdle = Op::kFromTarget && !T::kNeedsProgress;
  if (!inbox.wait_token(std::chrono::microseconds(kIdle ? 1000 : 0))) return result;
  if constexpr (kValidate && std::is_same_v<Op, transport::Write>) {
    if (!check_window(endpoint, plan, inbox, result)) return result;
  }
  inbox.send_token();
  return result;
}

}  // namespace rdmabench::workload

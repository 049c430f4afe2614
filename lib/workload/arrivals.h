// What the target of a stream compares as messages arrive.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "workload/slots.h"

namespace rdmabench::inline v1::workload {

/// Counts messages that complete a receive on this side. Immediates are always compared, data on
/// request. With ordered messages each is compared with its expected content. Otherwise each is
/// checked for consistency, and the sums are compared once all have arrived.
template <transport::Transport T, class Op, bool kValidate>
class Arrivals {
 public:
  Arrivals(T& endpoint, const EpochPlan& plan, EpochIo<T>& io, EpochResult& result) noexcept
      : endpoint_(endpoint),
        plan_(plan),
        extent_{.iterations = plan.iterations, .whole = !plan.grows},
        io_(io),
        result_(result) {
    divide();
  }

  std::uint64_t count() const noexcept { return result_.arrived; }
  bool all() noexcept { return count() >= look_at_ && look(); }

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
  static constexpr bool kInOrder = T::kOrdersMessages && T::kReliable;

  bool complain(Outcome outcome) noexcept {
    return workload::complain(io_, result_, outcome, count());
  }

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

  T& endpoint_;
  const EpochPlan& plan_;
  Extent extent_;
  std::uint64_t part_ = 0;
  std::uint64_t look_at_ = 0;
  EpochIo<T>& io_;
  EpochResult& result_;
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

}  // namespace rdmabench::inline v1::workload

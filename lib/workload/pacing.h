// When messages are due.
#pragma once

#include <cstdint>
#include <vector>

#include "rdmabench/measure/clock.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::workload {

/// Intended starts, each so many 2^-16 ticks after the one before. They do not move when a message
/// goes out late, so what was missed is caught up at once. The sum of all gaps must stay below 2^48
/// ticks (a day).
class Schedule {
 public:
  explicit Schedule(measure::Ticks begin) noexcept : begin_(begin) {}

  /// Of the next message.
  measure::Ticks due() const noexcept { return begin_ + (elapsed_ >> 16); }
  void advance(std::uint64_t gap_q16) noexcept { elapsed_ += gap_q16; }

 private:
  measure::Ticks begin_;
  std::uint64_t elapsed_ = 0;
};

/// The gaps between arrivals, drawn from a table of equally likely ones, so that the loop asks for
/// no option and takes no logarithm: one gap, or 1,024 of an exponential distribution, whose
/// largest is 7.6 times their mean. Allocates.
class Gaps {
 public:
  Gaps(ArrivalProcess arrivals, std::uint64_t gap_q16);

  void seed(measure::Ticks now) noexcept { state_ = now * 2 + 1; }

  /// By xorshift64 (Marsaglia, 2003).
  std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return table_[state_ >> 32 & mask_];
  }

 private:
  std::uint64_t state_ = 1;
  std::uint64_t mask_ = 0;
  std::vector<std::uint64_t> table_;
};

/// The clock of this machine's choice, asked for at each stamp: a few nanoseconds, which only
/// latency cannot afford. It saves the open loop a copy for each clock.
struct ChosenClock {
  static measure::Ticks stamp() noexcept { return measure::stamp_now(); }
};

/// A stream as fast as it goes.
struct Unpaced {
  static constexpr bool kPaced = false;

  explicit Unpaced(const EpochPlan& /*plan*/) noexcept {}
  void start(measure::Ticks /*begin*/) noexcept {}
  static constexpr bool due() noexcept { return true; }
  static void advance() noexcept {}
};

/// A stream that keeps to EpochPlan::gap_q16.
class Paced {
 public:
  static constexpr bool kPaced = true;

  explicit Paced(const EpochPlan& plan) noexcept : gap_(plan.gap_q16), schedule_(0) {}
  void start(measure::Ticks begin) noexcept { schedule_ = Schedule(begin); }
  bool due() const noexcept { return measure::stamp_now() >= schedule_.due(); }
  void advance() noexcept { schedule_.advance(gap_); }

 private:
  std::uint64_t gap_;
  Schedule schedule_;
};

}  // namespace rdmabench::inline v1::workload

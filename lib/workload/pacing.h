// When messages are due.
#pragma once

#include <cstdint>

#include "rdmabench/measure/clock.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::workload {

/// Intended starts, `gap_q16` / 2^16 ticks apart. They do not move when a message goes out late, so
/// what was missed is caught up at once. The sum of all gaps must stay below 2^48 ticks (a day).
class Schedule {
 public:
  Schedule(measure::Ticks begin, std::uint64_t gap_q16) noexcept : begin_(begin), gap_(gap_q16) {}

  /// Of the next message.
  measure::Ticks due() const noexcept { return begin_ + (elapsed_ >> 16); }
  void advance() noexcept { elapsed_ += gap_; }
  /// Of message k.
  measure::Ticks due(std::uint64_t k) const noexcept { return begin_ + (k * gap_ >> 16); }

 private:
  measure::Ticks begin_;
  std::uint64_t gap_;
  std::uint64_t elapsed_ = 0;
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

  explicit Paced(const EpochPlan& plan) noexcept : gap_(plan.gap_q16), schedule_(0, gap_) {}
  void start(measure::Ticks begin) noexcept { schedule_ = Schedule(begin, gap_); }
  bool due() const noexcept { return measure::stamp_now() >= schedule_.due(); }
  void advance() noexcept { schedule_.advance(); }

 private:
  std::uint64_t gap_;
  Schedule schedule_;
};

}  // namespace rdmabench::workload

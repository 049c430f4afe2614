// How long a comparison of clocks stays valid.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rdmabench::collective {

/// Valid for a second after the comparison ended, or for ten times as long as it took if that is
/// more: comparing a thousand ranks one by one takes a second, and every epoch would need a
/// comparison. ClockLine::error_ns() grows with the age of a comparison. Nanoseconds of one clock.
/// Thread rule: one thread.
class ClockHold {
 public:
  static constexpr std::uint64_t kLeastNs = 1'000'000'000;
  static constexpr std::uint64_t kTimesItsOwn = 10;

  void compared(std::uint64_t began_ns, std::uint64_t ended_ns) noexcept {
    ended_ns_ = ended_ns;
    holds_ns_ = std::max(kLeastNs, kTimesItsOwn * (ended_ns - began_ns));
  }

  /// False before the first comparison.
  bool holds(std::uint64_t now_ns) const noexcept {
    return holds_ns_ > 0 && now_ns - ended_ns_ <= holds_ns_;
  }

 private:
  std::uint64_t ended_ns_ = 0;
  std::uint64_t holds_ns_ = 0;
};

}  // namespace rdmabench::collective

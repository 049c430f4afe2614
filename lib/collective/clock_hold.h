// For how long clocks that were compared are taken to be known.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rdmabench::collective {

/// From the end of a comparison on, for a second, or for ten times what the comparison itself took
/// where that is more: ranks are asked one after the other, and of a thousand that takes a second.
/// Held from its beginning on, every epoch would have one before it. That the offset is known less
/// well after longer is in ClockLine::error_ns(). Nanoseconds of one clock. A value; thread rule:
/// one thread.
class ClockHold {
 public:
  static constexpr std::uint64_t kLeastNs = 1'000'000'000;
  static constexpr std::uint64_t kTimesItsOwn = 10;

  void compared(std::uint64_t began_ns, std::uint64_t ended_ns) noexcept {
    ended_ns_ = ended_ns;
    holds_ns_ = std::max(kLeastNs, kTimesItsOwn * (ended_ns - began_ns));
  }

  /// Not before the first comparison.
  bool holds(std::uint64_t now_ns) const noexcept {
    return holds_ns_ > 0 && now_ns - ended_ns_ <= holds_ns_;
  }

 private:
  std::uint64_t ended_ns_ = 0;
  std::uint64_t holds_ns_ = 0;
};

}  // namespace rdmabench::collective

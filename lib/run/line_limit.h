// How many lines of a kind are told.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace rdmabench::run {

/// A burst of kBurst lines, and then kEachSecond. Thread rule: one thread at a time.
class LineLimit {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double kBurst = 32;
  static constexpr double kEachSecond = 8;

  /// Nothing where the line is to be dropped, else how many were since the last one that was not.
  std::optional<std::uint64_t> pass(Clock::time_point now) {
    left_ =
        std::min(kBurst, left_ + kEachSecond * std::chrono::duration<double>(now - last_).count());
    last_ = now;
    if (left_ < 1) {
      ++dropped_;
      return std::nullopt;
    }
    left_ -= 1;
    return take_dropped();
  }

  std::uint64_t take_dropped() { return std::exchange(dropped_, 0); }

 private:
  double left_ = kBurst;
  Clock::time_point last_ = Clock::now();
  std::uint64_t dropped_ = 0;
};

}  // namespace rdmabench::run

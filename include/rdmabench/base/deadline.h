// A point in time that limits waits.
#pragma once

#include <algorithm>
#include <chrono>

#include "rdmabench/features.h"

namespace rdmabench::inline v1 {

/// Set once and passed to every call that waits, so that a sequence of waits has one limit.
/// Source of time: CLOCK_MONOTONIC (std::chrono::steady_clock). Thread rule: a value; share freely.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after(std::chrono::nanoseconds wait) {
    return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(wait));
  }

  bool passed() const { return Clock::now() >= at_; }

  /// The time left; never negative.
  std::chrono::nanoseconds left() const {
    const auto now = Clock::now();
    return now >= at_ ? std::chrono::nanoseconds(0) : std::chrono::nanoseconds(at_ - now);
  }

  /// A quarter of the time left before this one, a second at most: for a step of what this one
  /// bounds, so that the step ends first and can say what was late.
  Deadline earlier() const {
    return after(left() - std::min<std::chrono::nanoseconds>(left() / 4, std::chrono::seconds(1)));
  }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace rdmabench::inline v1

// Why a loop that sees no completion stops waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "rdmabench/workload/epoch.h"

namespace rdmabench::workload {

/// Counts empty polls, and looks at the clock and the peer only once in 1024 of them.
///
/// That look also yields the processor: with more spinning threads than cores, the peer may be
/// waiting for ours. Thread rule: one thread.
class Watch {
 public:
  /// Gives up when nothing completed for `limit`, or when `interrupted()` says that the peer has
  /// gone. `interrupted` must not throw; it is called about every 10 ms of idling.
  Watch(std::chrono::nanoseconds limit, std::function<bool()> interrupted)
      : limit_(limit), interrupted_(std::move(interrupted)) {}

  /// Something completed.
  void progress() noexcept { idle_polls_ = 0; }

  /// After an empty poll: true when the wait is over. outcome() then says why.
  bool give_up() noexcept {
    if (++idle_polls_ % kPollsPerLook != 0) [[likely]]
      return false;
    return look();
  }

  Outcome outcome() const noexcept { return outcome_; }

  static constexpr std::uint64_t kPollsPerLook = 1024;

 private:
  using Clock = std::chrono::steady_clock;

  bool look() noexcept;

  std::chrono::nanoseconds limit_;
  std::function<bool()> interrupted_;
  std::uint64_t idle_polls_ = 0;
  Clock::time_point idle_since_{};
  Clock::time_point asked_{};
  Outcome outcome_ = Outcome::ok;
};

}  // namespace rdmabench::workload

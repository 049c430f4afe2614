// How long a client may keep a session without measuring.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "rdmabench/base/error.h"
#include "run/budget.h"

namespace rdmabench::inline v1::run {

/// Limits (time that the client pauses) - (time that it measures). A session turns between waits
/// for the client, of which those below a second do not count, and epochs, in which the client may
/// pause too. Times are of one clock that never goes back. Thread rule: one thread.
class IdleLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  /// It starts with an epoch. `command` has an option --max-idle; "" = none has.
  IdleLimit(Duration most, Time now, std::string command)
      : most_(most), since_(now), command_(std::move(command)) {}

  /// At the end of an epoch, in which nothing arrived for `paused`. Throws Error(failed) when the
  /// client has paused too long in all.
  void begin_wait(Time now, Duration paused = {}) {
    idle_ = std::max(Duration::zero(), idle_ + 2 * paused - (now - since_));
    since_ = now;
    check();
  }

  /// At its begin. Throws as begin_wait().
  void end_wait(Time now) {
    constexpr auto kPause = std::chrono::seconds(1);
    if (now - since_ >= kPause) idle_ += now - since_;
    since_ = now;
    check();
  }

  /// For how long the client may still pause.
  Duration left() const { return std::max(Duration::zero(), most_ - idle_); }

  [[noreturn]] void refuse(Duration idle) const {
    throw Error(Fault::failed,
                fmt::format("the client paused {}ms longer than it measured; the limit is {}ms",
                            std::chrono::duration_cast<std::chrono::milliseconds>(idle).count(),
                            std::chrono::duration_cast<std::chrono::milliseconds>(most_).count()),
                fmt::format("Measure without pauses{}.", or_raise(command_, "--max-idle")));
  }

 private:
  void check() const {
    if (idle_ > most_) refuse(idle_);
  }

  Duration most_;
  Duration idle_{0};
  Time since_;
  std::string command_;
};

}  // namespace rdmabench::inline v1::run

// Stall detection: ends a polling loop when nothing has completed for a given time, or when the
// peer has gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::workload {

/// Counts empty polls, and checks the clock and the peer only once in 1024 of them.
///
/// Each check also calls sched_yield(): if there are more polling threads than cores, the peer may
/// need this core. A program with many such threads may let them sleep. Thread rule: one thread.
class Watch {
 public:
  /// Gives up when nothing completed for `limit`, or when `interrupted()` says that the peer has
  /// gone; it is called about every 10 ms, be there much to do or not. `answered()` says that the
  /// peer's result is here already, on the control channel: where messages may be lost, so may be
  /// the marker that says so; it is called about every 10 ms of idling. Neither may throw.
  /// `rest(idle)` is called at each check, in place of sched_yield() where it returns true: it
  /// slept, because nothing has completed for `idle`. The next check comes after 64 empty polls
  /// then. It may not throw either.
  Watch(std::chrono::nanoseconds limit, std::function<bool()> interrupted,
        std::function<bool()> answered = nullptr,
        std::function<bool(std::chrono::nanoseconds idle)> rest = nullptr)
      : limit_(limit),
        interrupted_(std::move(interrupted)),
        answered_(std::move(answered)),
        rest_(std::move(rest)) {}

  /// Of an epoch that grows: `extend(extent, pump)` brings `extent` up to date, and is called too
  /// about every 10 ms of idling. `pump` is null, or how far
  /// a pump is that soon needs more. It may not throw. What it brings is a sign of life only where
  /// `sees_none`: this side sees no completions of the peer's messages.
  void let_grow(std::uint64_t iterations, bool sees_none,
                std::function<void(Extent& extent, const EpochResult* pump)> extend) {
    extent_ = {.iterations = iterations, .whole = false};
    sees_none_ = sees_none;
    extend_ = std::move(extend);
  }
  void extend(Extent& extent, const EpochResult* pump = nullptr) noexcept {
    if (extend_) extend_(extent, pump);
  }

  /// Asks this endpoint too whether its device has failed, where it can tell
  /// (Endpoint::device_failed()), as often as `interrupted()`. The endpoint must live as long as
  /// this is asked.
  template <class T>
  void watch_device(T& endpoint) noexcept {
    device_ = &endpoint;
    if constexpr (requires { endpoint.device_failed(); }) {
      device_failed_ = [](void* device) noexcept {
        return static_cast<T*>(device)->device_failed();
      };
    } else {
      device_failed_ = nullptr;
    }
  }

  /// Something completed.
  void progress() noexcept { idle_polls_ = 0; }

  /// Nothing was due: this is not a stall, however long it lasts. A peer that has gone is still
  /// seen.
  void nothing_due() noexcept { nothing_due_ = true; }

  /// An empty poll takes long, because it sleeps: look after each.
  void look_always() noexcept { polls_per_look_ = 1; }

  /// In the midst of work that is never idle: whether the peer has gone. outcome() then says so.
  /// Asks every 10 ms at most, so that it may be called often.
  bool interrupted() noexcept;

  /// After an empty poll: true when the wait is over. outcome() then says why.
  bool give_up() noexcept {
    if ((++idle_polls_ & (polls_per_look_ - 1)) != 0) [[likely]]
      return false;
    return look();
  }

  Outcome outcome() const noexcept { return outcome_; }

  /// Whether the last look found the peer's result.
  bool answered() const noexcept { return has_answer_; }

  static constexpr std::uint64_t kPollsPerLook = 1024;  // a power of two
  static constexpr std::uint64_t kPollsPerRest = 64;

 private:
  using Clock = std::chrono::steady_clock;

  bool look() noexcept;
  bool ask() noexcept;

  std::chrono::nanoseconds limit_;
  std::function<bool()> interrupted_;
  std::function<bool()> answered_;
  std::function<bool(std::chrono::nanoseconds)> rest_;
  std::function<void(Extent&, const EpochResult*)> extend_;
  Extent extent_;
  bool (*device_failed_)(void*) noexcept = nullptr;
  void* device_ = nullptr;
  std::uint64_t polls_per_look_ = kPollsPerLook;
  std::uint64_t idle_polls_ = 0;
  Clock::time_point idle_since_{};
  Clock::time_point asked_{};
  Clock::time_point asked_at_work_ = Clock::now();
  bool nothing_due_ = false;
  bool sees_none_ = false;
  bool has_answer_ = false;
  Outcome outcome_ = Outcome::ok;
};

}  // namespace rdmabench::inline v1::workload

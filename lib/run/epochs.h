// The client's epochs, one after another, and how long one may be.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "rdmabench/measure/clock.h"
#include "rdmabench/run/config.h"
#include "run/session.h"

namespace rdmabench::inline v1::run {

/// Messages per second that no device reaches: the depth alone holds them back.
inline constexpr double kUnreachableRate = 1e12;

/// Its clock is anchored when it is made, and again at each rate().
class Epochs {
 public:
  Epochs(Session& session, const Config& config);

  /// Of `iterations` on each worker; the intervals are then in intervals().
  /// `goes_on`: of an open loop, see Session::prepare(). With `grow` it is the first part of a
  /// stream, and what is returned is the last one.
  EpochOutcome run(std::uint64_t size, std::uint64_t iterations, double rate, bool verify = false,
                   bool goes_on = false, const Grow& grow = nullptr);

  /// A few messages of the largest size, every byte of which is compared. Throws Error(failed).
  void verify();

  /// Returns how many messages of each worker it took.
  std::uint64_t warm_up(std::uint64_t size);

  /// How long an epoch, or a part of a stream, may take. While messages flow a run can be cancelled
  /// only then.
  /// And a target that is not notified of what it serves cannot tell a long epoch from a stopped
  /// initiator: a quarter of the timeout.
  std::chrono::nanoseconds longest_time() const;
  /// Messages of each worker for that, at the speed last seen.
  std::uint64_t longest() const noexcept { return longest_; }
  /// That speed: so many took so long, with what agreeing on them took.
  std::uint64_t seen() const noexcept { return seen_; }
  std::chrono::nanoseconds seen_time() const noexcept { return seen_time_; }
  void bound(std::uint64_t iterations, std::chrono::nanoseconds elapsed);

  /// Of `messages` of all workers; none where the loop takes none.
  std::span<const measure::Ticks> intervals(std::size_t messages) const noexcept {
    return {intervals_.data(), intervals_.empty() ? 0 : messages};
  }

  /// What a tick has been worth since the start.
  measure::TickRate rate() const;

 private:
  Session& session_;
  const Config& config_;
  measure::Anchor anchor_;
  std::vector<measure::Ticks> intervals_;
  std::uint64_t longest_ = 1;
  std::uint64_t seen_ = 0;
  std::chrono::nanoseconds seen_time_{0};
};

}  // namespace rdmabench::inline v1::run

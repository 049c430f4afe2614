// Whom a listener refuses, told without a flood of lines.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "handshake.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::inline v1::control {

/// Of each address and reason the first is told at once. Those that follow are counted, and told
/// together after kFirst, then after twice as long each time, up to kLongest. Thread rule: one
/// thread.
class Refusals {
 public:
  using Clock = Deadline::Clock;
  static constexpr std::chrono::seconds kFirst{10};
  static constexpr std::chrono::hours kLongest{1};
  static constexpr std::size_t kMost = 4096;  ///< of addresses; those beyond are not told

  /// As Listener::on_refused(). The one before is told of what was counted.
  void on_refused(std::function<void(const RefusedPeer&)> tell);

  void add(RefusedPeer refused, RefusalReason reason, Clock::time_point now) noexcept;

  /// Tells of those whose time has come. Returns when there may be others; nothing where nobody was
  /// refused of late.
  std::optional<Clock::time_point> tell_due(Clock::time_point now) noexcept;

  /// Tells of all that were counted.
  void tell_rest() noexcept;

 private:
  struct Counted {
    RefusedPeer last;  ///< its count: since the last call
    Clock::time_point due;
    Clock::duration wait;
  };
  void tell(RefusedPeer& refused) noexcept;

  std::function<void(const RefusedPeer&)> tell_;
  std::map<std::pair<std::string, RefusalReason>, Counted> counted_;
  std::optional<Clock::time_point> next_;  ///< when the first of them is due
};

}  // namespace rdmabench::inline v1::control

// One size after another over an open session: warm-up, epochs, result.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <span>
#include <vector>

#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/stop.h"
#include "rdmabench/report/result.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/config.h"
#include "run/session.h"

namespace rdmabench::run {

/// Messages per second that no device reaches: the depth alone holds them back.
inline constexpr double kUnreachableRate = 1e12;

struct RateInterval {
  double low = 0;  ///< both 0 for a single epoch
  double high = 0;
};

/// The 95 % interval of a mean rate, by Student's t of the epochs' times for a message; of fewer
/// than six epochs by that of the times' logs. The rate lies within, also where a stall made one
/// epoch long; from six epochs on no end is faster than the fastest one.
RateInterval rate_interval(double rate, std::span<const double> epoch_times);

/// How the target of a message that posts this sees it arrive: "receive", "remote-cq-data",
/// "memory-poll".
std::string_view signal_of(transport::OperationCode posted) noexcept;

/// Sets `saturated` of the rows of one size, from the lightest load to the heaviest, and `knee` and
/// `knee_reliable` of the one before the first whose latency rises steeply. No row is a knee where
/// the first rises steeply already, or none does.
void mark_knee(std::span<report::LoadResult> rows);

/// What the caller's code threw. No std::exception, so that nothing takes it for a failure of the
/// run.
struct HookThrew {
  std::exception_ptr exception;
};

/// Calls `hook` if there is one. Throws HookThrew with what it threw.
template <class Argument>
void call(const std::function<void(const Argument&)>& hook, const Argument& argument) {
  if (!hook) return;
  try {
    hook(argument);
  } catch (...) {
    throw HookThrew{std::current_exception()};
  }
}

/// The client's measuring. Its clock is anchored when it is made, and again at each result.
class Measurement {
 public:
  Measurement(Session& session, const Config& config, const RunHooks& hooks);

  /// Measures config.sizes[index] and appends the row. When that fails half way, what there is by
  /// then is appended, marked, and the Error goes on.
  void run(std::size_t index, report::Report& report);

  /// A few messages of the largest size, every byte of which is compared. Throws Error(failed).
  void verify();

  /// What a tick has been worth since the start.
  measure::TickRate rate() const;

 private:
  /// Of `iterations` on each worker; the intervals are then in intervals_.
  EpochOutcome epoch(std::uint64_t size, std::uint64_t iterations, double rate,
                     bool verify = false);
  /// The rate of a warm-up: an open loop has no "as fast as it goes" but one beyond any device.
  double paced_or_free(std::uint64_t size) const;
  std::uint64_t warm_up(std::uint64_t size);

  /// How long an epoch may take, at the speed last seen. A run can be cancelled only between epochs
  /// while messages flow. And a target that is not notified of what it serves cannot tell a long
  /// epoch from a stopped initiator: a quarter of the timeout.
  std::chrono::nanoseconds longest_time() const;
  void bound_epochs(std::uint64_t iterations, std::chrono::nanoseconds elapsed);

  /// Every load in turn at one size.
  void run_loads(std::size_t index, std::vector<report::LoadResult>& rows);
  report::LoadResult run_load(std::uint64_t size, double rate);
  double capacity(std::uint64_t size);

  template <class Sink>
  void run_size(std::size_t index, std::vector<typename Sink::Result>& rows);

  Session& session_;
  const Config& config_;
  const RunHooks& hooks_;
  measure::Anchor anchor_;
  std::vector<measure::Ticks> intervals_;
  std::uint64_t longest_epoch_ = 1;
};

}  // namespace rdmabench::run

// When a measurement has run long enough.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace rdmabench::measure {

/// What "stable" means: the median of the epochs is known to within `max_noise` of itself.
struct Stability {
  double max_noise = 0.005;  ///< the largest Stopper::uncertainty()
  std::chrono::nanoseconds min_time = std::chrono::milliseconds(500);
  std::chrono::nanoseconds max_time = std::chrono::seconds(10);  ///< then it ends, stable or not
  std::uint64_t min_epochs = 11;
};

struct StopRule {
  enum class Kind : std::uint8_t { iterations, duration, stable };

  Kind kind = Kind::stable;
  std::uint64_t count = 0;           ///< Kind::iterations
  std::chrono::nanoseconds time{0};  ///< Kind::duration
  Stability stability;               ///< Kind::stable

  /// Exactly `count` iterations. Throws Error(usage) for 0.
  static StopRule iterations(std::uint64_t count);
  /// As many whole iterations as come nearest to `time`. Throws Error(usage) unless it is above 0.
  static StopRule duration(std::chrono::nanoseconds time);
  /// Until the result no longer moves. Throws Error(usage) unless 0 < max_noise, 0 <= min_time <=
  /// max_time, 0 < max_time and 6 <= min_epochs, below which there is no interval of 95 %.
  static StopRule stable(const Stability& stability = {});
};

/// Cuts a run into epochs and says when to stop. An epoch is timed as a whole; between epochs,
/// outside of the timed regions, the two sides agree on the size of the next:
///
///   while (const auto n = stopper.next_epoch()) { ...run n...; stopper.add(n, elapsed_ns,
///   median_ns); }
///
/// By time, the first epoch is one iteration (which may take seconds), and each next one aims at
/// 100 ms or less by the speed of the last, growing at most 16-fold. Deterministic; reads no clock.
/// Thread rule: a value, one thread at a time.
class Stopper {
 public:
  /// The largest epoch: what a loop's array of intervals must hold.
  static constexpr std::uint64_t kMaxEpoch = std::uint64_t{1} << 20;

  explicit Stopper(const StopRule& rule);

  /// Iterations to run next, 1..kMaxEpoch; 0 when finished.
  std::uint64_t next_epoch() const;

  /// What the epoch was: `location_ns` is its median latency, or its nanoseconds per message.
  void add(std::uint64_t iterations, double elapsed_ns, double location_ns);

  /// Whether the rule was met: false after a stable rule that ran into max_time, and before the
  /// end.
  bool converged() const;

  std::uint64_t iterations() const noexcept { return iterations_; }
  double elapsed_ns() const noexcept { return elapsed_ns_; }

  // The two below judge the epochs' locations. By time, only epochs of about the length aimed at
  // count, since the short ones before them are noisier by nature. NaN below two epochs.

  /// How much epochs differ: the median distance of their locations from the median, relative to it
  /// (MdAPE). More epochs do not change it. It cannot see a second speed that fewer than half of
  /// them have.
  double spread() const;

  /// How well the median of the locations is known: half of its 95 % confidence interval, relative
  /// to it (median_interval()). More epochs narrow it, unless they switch between two speeds about
  /// equally often.
  double uncertainty() const;

 private:
  std::uint64_t epoch_within(double left_ns) const;

  StopRule rule_;
  double target_ns_ = 0;  // of an epoch; 0 when the rule counts iterations
  std::uint64_t iterations_ = 0;
  double elapsed_ns_ = 0;
  std::uint64_t last_iterations_ = 0;
  double last_elapsed_ns_ = 0;
  std::vector<double> locations_;  // sorted
};

}  // namespace rdmabench::measure

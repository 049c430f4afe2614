// Decides when a measurement ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace rdmabench::measure {

/// The criterion "stable": the median of the epochs is known with a relative error of `max_noise`.
struct Stability {
  double max_noise = 0.005;  ///< the largest Stopper::uncertainty()
  std::chrono::nanoseconds min_time = std::chrono::milliseconds(500);
  std::chrono::nanoseconds max_time =
      std::chrono::seconds(10);  ///< the run ends then, stable or not
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
  /// The number of iterations that comes nearest to `time`. Throws Error(usage) unless `time` > 0.
  static StopRule duration(std::chrono::nanoseconds time);
  /// Until the result is stable. Throws Error(usage) unless 0 < max_noise, 0 <= min_time <=
  /// max_time, 0 < max_time and 6 <= min_epochs (with fewer there is no 95 % interval).
  static StopRule stable(const Stability& stability = {});
};

/// Divides a run into epochs and decides when to stop. Between epochs, outside of the timed
/// regions, the two sides agree on the size of the next epoch:
///
///   while (const auto n = stopper.next_epoch()) { ...run n...; stopper.add(n, elapsed_ns,
///   median_ns); }
///
/// With a time, the first epoch is one iteration (which may take seconds). The following ones aim
/// at 100 ms or less by the speed of the previous one, and grow at most 16-fold. Deterministic;
/// reads no clock. Thread rule: a value, one thread at a time.
class Stopper {
 public:
  /// The largest epoch: the size of a loop's array of intervals.
  static constexpr std::uint64_t kMaxEpoch = std::uint64_t{1} << 20;

  explicit Stopper(const StopRule& rule);

  /// Iterations to run next, 1..kMaxEpoch; 0 when finished.
  std::uint64_t next_epoch() const;

  /// Adds a finished epoch. `location_ns` is its median latency or its time per message.
  void add(std::uint64_t iterations, double elapsed_ns, double location_ns);

  /// Whether the rule is met. False before the end, and if a stable rule has reached max_time.
  bool converged() const;

  std::uint64_t iterations() const noexcept { return iterations_; }
  double elapsed_ns() const noexcept { return elapsed_ns_; }

  // Statistics of the epochs' locations. With a time, the first, shorter epochs are not used,
  // because they are noisier. NaN below two epochs.

  /// Spread of the epochs: the median distance of their locations from the median, relative to the
  /// median (MdAPE). It does not depend on the number of epochs, and does not show a second speed
  /// of fewer than half of the epochs.
  double spread() const;

  /// Uncertainty of the median of the locations: half of its 95 % confidence interval, relative to
  /// the median (percentile_interval()). It falls with the number of epochs, unless about half of
  /// them have another speed.
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

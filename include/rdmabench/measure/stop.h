// Decides when a measurement ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::measure {

/// The criterion "stable": the epochs agree within `max_noise`.
struct Stability {
  double max_noise = 0.005;  ///< the largest Stopper::uncertainty()
  std::chrono::nanoseconds min_time = std::chrono::milliseconds(500);
  /// The run ends then, stable or not; after 2 * min_epochs where all of it would not be enough.
  std::chrono::nanoseconds max_time = std::chrono::seconds(10);
  std::uint64_t min_epochs = 22;
};

struct StopRule {
  enum class Kind : std::uint8_t { iterations, duration, stable };

  Kind kind = Kind::stable;
  std::uint64_t count = 0;           ///< Kind::iterations
  std::chrono::nanoseconds time{0};  ///< Kind::duration
  Stability stability{};             ///< Kind::stable

  /// Exactly `count` iterations. Throws Error(usage) for 0.
  static StopRule iterations(std::uint64_t count);
  /// The number of iterations that comes nearest to `time`. Throws Error(usage) unless `time` > 0.
  static StopRule duration(std::chrono::nanoseconds time);
  /// Until the result is stable. Throws Error(usage) unless 0 < max_noise, 0 <= min_time <=
  /// max_time, 0 < max_time and 6 <= min_epochs.
  static StopRule stable(const Stability& stability = {});

  /// Throws what these throw, for a rule that was written member by member.
  void check() const;
};

/// What is wanted: the median of the epochs' latencies, or the mean of a stream's times per
/// message, which a few slow parts change.
enum class Location : std::uint8_t { median, mean };

/// Why epochs do not agree.
enum class Disagreement : std::uint8_t {
  none,        ///< they do, or nothing was asked
  few,         ///< there are too few of them
  two_speeds,  ///< they fall into two groups
  drift,       ///< they become faster or slower
  dependence,  ///< each is like the one before, so that many tell little
  noise,       ///< they differ by chance
};

/// "two_speeds"
std::string_view name(Disagreement why) noexcept;

/// Divides a run into epochs and decides when to stop. Between epochs, outside of the timed
/// regions, the two sides agree on the size of the next epoch:
///
///   while (const auto n = stopper.next_epoch()) { ...run n...; stopper.add(n, elapsed_ns,
///   median_ns); }
///
/// With a time, the first epoch is one iteration (which may take seconds). The following ones aim
/// at 100 ms or less by the speed of the previous one, and grow at most 16-fold. Those of a stream
/// take a quarter of a second, where a rule for stability has enough messages to look at in one;
/// the next is agreed on before one ends, so that nothing rests between them. Whether a run is
/// stable is asked when min_epochs and min_time are reached, and then each time that the number of
/// epochs has doubled: who asks after every epoch stops when chance makes them look alike.
/// Deterministic; reads no clock. Thread rule: a value, one thread at a time.
class Stopper {
 public:
  /// The largest epoch: the size of a loop's array of intervals.
  static constexpr std::uint64_t kMaxEpoch = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMaxStream = std::uint64_t{1} << 30;  ///< that of a stream

  explicit Stopper(const StopRule& rule, Location location = Location::median);

  /// Iterations to run next, 1..kMaxEpoch; 0 when finished. `pending` ones are already agreed on,
  /// and are yet to be added.
  std::uint64_t next_epoch(std::uint64_t pending = 0) const;

  /// How long some iterations took before the first epoch, which then need not be a single one.
  void expect(std::uint64_t iterations, double elapsed_ns);

  /// Adds a finished epoch. Its location is its median latency or its time per message; a stream
  /// may have that of each of its parts.
  void add(std::uint64_t iterations, double elapsed_ns, std::span<const double> locations_ns);
  void add(std::uint64_t iterations, double elapsed_ns, double location_ns) {
    add(iterations, elapsed_ns, std::span<const double>(&location_ns, 1));
  }

  /// Whether the rule is met. False before the end, and if a stable rule has reached max_time.
  bool converged() const;

  /// Of a stable rule that was not met.
  Disagreement disagreement() const;

  std::uint64_t iterations() const noexcept { return iterations_; }
  double elapsed_ns() const noexcept { return elapsed_ns_; }

  /// Of the epochs, in their order. Those that are much shorter, as the first ones of a time are,
  /// are not among them, because they are noisier.
  std::span<const double> locations() const noexcept { return locations_; }

  // NaN below two locations.

  /// Spread of the epochs: the median distance of their locations from the median, relative to the
  /// median (MdAPE). It does not depend on the number of epochs, and does not show a second speed
  /// of fewer than half of the epochs.
  double spread() const;

  /// The far end of interval(), relative to its value; infinite where it does not cover. The rule
  /// stops by it.
  double uncertainty() const;

  /// By estimate_dependent_median() or _mean(). Results print it.
  Estimate interval() const;

 private:
  std::uint64_t epoch_within(double left_ns) const;
  double target_ns() const;
  bool is_over(double elapsed_ns) const;
  void look();

  StopRule rule_;
  Location location_;
  std::uint64_t most_;    // iterations of an epoch
  double target_ns_ = 0;  // of an epoch; 0 when the rule counts iterations
  std::uint64_t iterations_ = 0;
  double elapsed_ns_ = 0;
  std::uint64_t last_iterations_ = 0;
  double last_elapsed_ns_ = 0;
  std::uint64_t largest_ = 0;
  std::vector<double> locations_;
  std::size_t next_look_;  // so many locations
  bool stable_ = false;    // at the last look
  bool hopeless_ = false;  // likewise
};

}  // namespace rdmabench::inline v1::measure

// What the epochs of one size come to: a sink takes them one by one, and fills their row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rdmabench/measure/histogram.h"
#include "rdmabench/measure/stop.h"
#include "rdmabench/results/result.h"
#include "run/peak_rate.h"
#include "run/session.h"

namespace rdmabench::inline v1::run {

struct RateInterval {
  double low = 0;  ///< both 0 for a single epoch
  double high = 0;
};

/// The interval of a mean rate, by measure::estimate_dependent_mean() of the epochs' times for a
/// message, in their order; of fewer than six epochs at 95 % by Student's t of the times' logs. The
/// rate lies within, also where a stall made one epoch long; from six epochs on no end is faster
/// than the fastest one.
RateInterval rate_interval(double rate, std::span<const double> epoch_times);

/// How the target of a message that posts this sees it arrive: "receive", "remote-cq-data",
/// "memory-poll".
std::string_view signal_of(transport::OperationCode posted) noexcept;

/// What one epoch tells the stopping rule.
struct Seen {
  double elapsed_ns;
  std::vector<double> locations_ns;  ///< median latency, or time per message of each part
};

class LatencySink {
 public:
  using Result = report::LatencyResult;
  static constexpr measure::Location kLocation = measure::Location::median;

  LatencySink(Session& session, const Config& config);

  /// `intervals`: of its messages, in ticks.
  Seen add(const EpochOutcome& epoch, std::span<const measure::Ticks> intervals,
           double ns_per_tick);
  void fill(Result& row, const measure::Stopper& stopper, double ns_per_tick) const;

 private:
  Session& session_;
  bool completes_;
  double factor_;
  std::uint64_t succeeded_ = 0;
  measure::LatencyRecorder recorder_;
};

class BandwidthSink {
 public:
  using Result = report::BandwidthResult;
  static constexpr measure::Location kLocation = measure::Location::mean;

  BandwidthSink(Session& session, const Config& config);

  Seen add(const EpochOutcome& epoch, std::span<const measure::Ticks> intervals,
           double ns_per_tick);
  void fill(Result& row, const measure::Stopper& stopper, double ns_per_tick);

 private:
  std::string completion(std::uint64_t size) const;
  void end_interval();

  Session& session_;
  const Config& config_;
  std::uint64_t directions_;
  std::uint64_t sent_ = 0;
  bool goes_on_ = false;         // more of the epoch is to come
  std::uint64_t confirmed_ = 0;  // of those; what was lost of the others is not known
  std::uint64_t arrived_ = 0;
  std::uint64_t succeeded_ = 0;
  double elapsed_ns_ = 0;
  measure::Ticks begin_ = 0;      // of the first epoch
  measure::Ticks whole_ = 0;      // from then to the end of the last one ...
  measure::Ticks under_way_ = 0;  // ... what of it was not between two ...
  measure::Ticks rested_ = 0;     // ... and what of that had nothing under way
  double interval_messages_ = 0;
  double interval_elapsed_ns_ = 0;
  std::vector<report::Interval> intervals_;
  PeakRate peak_;
};

}  // namespace rdmabench::inline v1::run

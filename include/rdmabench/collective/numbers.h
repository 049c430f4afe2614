// What the stamps of all ranks say: times, who came last, bandwidth.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rdmabench/collective/call.h"
#include "rdmabench/collective/loop.h"
#include "rdmabench/collective/rank_group.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::collective {

/// A rank's clock against rank 0's, from before a row to after it.
struct ClockLine {
  /// By how much the difference of two clocks' rates may move between two comparisons, ns per ns:
  /// RFC 5905's PHI. CLOCK_MONOTONIC_RAW is not slewed (clock_gettime(2)), so that NTP adds
  /// nothing; that the rates differ, by however much, the comparisons show.
  static constexpr double kWander = 15e-6;

  std::vector<ClockOffset> points{};  ///< one or more, in order of time

  /// A stamp of the rank's in rank 0's time, as nanoseconds after `epoch_ns` of that: exact for
  /// any time since the machines' boots, as long as the two are near. Between two comparisons the
  /// offset is taken to change evenly; before the first and after the last to be theirs.
  double since(std::uint64_t epoch_ns, std::uint64_t stamp_ns) const noexcept;

  /// Bound of since() for stamps between the first point and the last: that of the comparisons,
  /// and kWander for the time to the nearest one.
  double error_ns() const noexcept;
};

/// Who keeps the others waiting.
struct Late {
  std::uint32_t rank = 0;
  double share = 0;           ///< of the samples, in which it came last by more than the bound
  double by_ns = 0;           ///< median of those: how long after the median rank
  double error_bound_ns = 0;  ///< of a difference between two ranks' clocks
};

/// How the ranks arrived.
struct Arrivals {
  double skew_p50_ns = 0;  ///< from the first rank's arrival to the last one's
  double skew_max_ns = 0;
  double error_bound_ns = 0;
  /// From the last arrival to the last exit, median: what the operation took once all were there.
  double p50_after_last_ns = 0;
  std::optional<Late> late{};  ///< one rank that came last in half of the samples or more
  std::string reason{};        ///< why there is no `late`
};

/// One rank's own times.
struct RankTimes {
  double min_ns = 0;
  double p50_ns = 0;
  double max_ns = 0;
  std::uint64_t came_last = 0;  ///< samples, by more than the bound
};

struct Numbers {
  /// Of one operation: each sample is the longest that any rank took, divided by the batch. A rank
  /// that returns early, as the root of a broadcast, does not make it shorter.
  measure::LatencySummary time{};
  /// Confidence of the interval in `time` around the median: 0.95 of measure::median_interval(), or
  /// MedianWatch::kLevel, of the look that ended the row.
  double median_level = 0.95;
  std::vector<RankTimes> ranks{};  ///< of one operation
  Arrivals arrivals{};
};

/// Bytes per second at this time of one operation: the message over the time.
double algorithm_bandwidth(const Call& call, std::uint32_t ranks, double time_ns);

/// What the wire carries of it at each rank; none with one rank.
std::optional<double> bus_bandwidth(const Call& call, std::uint32_t ranks, double time_ns);

/// `samples[rank]` are alike in length, `clocks` one for each rank. The late rank is found by when
/// ranks came in, never by how long they took: who comes last waits least. Rank 0's clock is the
/// one that the others are compared with: it has no error.
Numbers judge(const std::vector<std::vector<Stamps>>& samples, const std::vector<ClockLine>& clocks,
              std::uint32_t batch);

}  // namespace rdmabench::collective

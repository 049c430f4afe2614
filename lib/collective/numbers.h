// What the stamps of all ranks mean: times, who came last, bandwidth.
#pragma once

#include <cstdint>
#include <vector>

#include "rdmabench/collective/run.h"

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

/// `samples[rank]` are alike in length, `clocks` one for each rank. The late rank is found by when
/// ranks came in, never by how long they took: who comes last waits least. Rank 0's clock is the
/// one that the others are compared with: it has no error.
Numbers judge(const std::vector<std::vector<Stamps>>& samples, const std::vector<ClockLine>& clocks,
              std::uint32_t batch);

}  // namespace rdmabench::collective

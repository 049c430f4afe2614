// Evaluates the stamps of all ranks: times, the late rank, bandwidth.
#pragma once

#include <cstdint>
#include <vector>

#include "rdmabench/collective/run.h"

namespace rdmabench::collective {

/// A rank's clock relative to rank 0's, from before a row to after it.
struct ClockLine {
  /// How much the difference of two clocks' rates may change between two comparisons, ns per ns:
  /// RFC 5905's PHI. NTP does not slew CLOCK_MONOTONIC_RAW (clock_gettime(2)); a constant
  /// difference of the rates is measured by the comparisons.
  static constexpr double kWander = 15e-6;

  std::vector<ClockOffset> points{};  ///< one or more, in order of time

  /// Converts a rank's stamp to rank 0's time, in ns after `epoch_ns`: exact at any time since
  /// boot, if the two are close. Between two comparisons the offset is interpolated linearly;
  /// before the first and after the last it is constant.
  double since(std::uint64_t epoch_ns, std::uint64_t stamp_ns) const noexcept;

  /// Error bound of since() for stamps between the first point and the last: that of the
  /// comparisons, plus kWander times the time to the nearest one.
  double error_ns() const noexcept;
};

/// `samples[rank]` have equal lengths, `clocks` one entry for each rank. The late rank is found by
/// the entry times, never by durations: the last rank waits least. Ranks are numbered as in
/// `samples`.
Numbers judge(const std::vector<std::vector<Stamps>>& samples, const std::vector<ClockLine>& clocks,
              std::uint32_t batch);

}  // namespace rdmabench::collective

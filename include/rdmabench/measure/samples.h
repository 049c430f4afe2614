// Where a latency run's samples go between two epochs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/histogram.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::measure {

/// Keeps every sample as it is while there are few, for exact percentiles; past a limit moves all
/// of them into a Histogram, so that a run of any length has all of its samples in bounded memory.
/// Called between epochs, never inside one: it may allocate. Thread rule: one thread at a time.
class LatencyRecorder {
 public:
  /// `exact_limit` samples of 8 bytes each are kept raw; 0 means a histogram from the start.
  explicit LatencyRecorder(std::size_t exact_limit = std::size_t{1} << 22) noexcept
      : exact_limit_(exact_limit) {}

  void add(std::span<const Ticks> intervals);

  std::uint64_t count() const noexcept {
    return histogram_ ? histogram_->count() : static_cast<std::uint64_t>(exact_.size());
  }

  /// Every sample times `ns_per_tick`, which the caller multiplies by 1/2 to report half a round
  /// trip. All zero if there are no samples. Sorts a copy: up to half a second at the limit of 4
  /// million.
  LatencySummary summary(double ns_per_tick) const;

 private:
  std::size_t exact_limit_;
  std::vector<Ticks> exact_;  // at most exact_limit_, and none once there is a histogram
  std::optional<Histogram> histogram_;
};

}  // namespace rdmabench::measure

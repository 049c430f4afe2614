// Stores the samples of a latency run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/histogram.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::measure {

/// Stores every sample up to a limit, for exact percentiles. Above the limit it moves all samples
/// into a Histogram, so that memory is bounded and no sample is dropped. Call it between epochs,
/// because it may allocate. Thread rule: one thread at a time.
class LatencyRecorder {
 public:
  /// Up to `exact_limit` samples of 8 bytes are stored; 0: a histogram from the start.
  explicit LatencyRecorder(std::size_t exact_limit = std::size_t{1} << 22) noexcept
      : exact_limit_(exact_limit) {}

  void add(std::span<const Ticks> intervals);

  std::uint64_t count() const noexcept {
    return histogram_ ? histogram_->count() : static_cast<std::uint64_t>(exact_.size());
  }

  /// Summary of all samples times `ns_per_tick`; pass half of it to report half round trips. All 0
  /// if there are no samples. It sorts a copy, which takes up to 0.5 s for 4 million samples.
  LatencySummary summary(double ns_per_tick) const;

 private:
  std::size_t exact_limit_;
  std::vector<Ticks> exact_;  // at most exact_limit_, and none once there is a histogram
  std::optional<Histogram> histogram_;
};

}  // namespace rdmabench::inline v1::measure

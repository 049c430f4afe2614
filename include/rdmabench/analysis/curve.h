// The time of a message by its size, as it was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rdmabench/analysis/launch.h"

namespace rdmabench::analysis {

/// A positive quantity at sizes, interpolated by straight lines between the logs of both: exact for
/// every power law, such as a constant bandwidth.
class Curve {
 public:
  /// Sizes in bytes, rising, each once; values > 0. At least one point. Throws Error(usage).
  explicit Curve(std::vector<std::pair<double, double>> points);

  double smallest() const { return points_.front().first; }
  double largest() const { return points_.back().first; }
  bool covers(double size_bytes) const;

  /// Within the measured sizes. Outside of them the value at the nearest end.
  double at(double size_bytes) const;

 private:
  std::vector<std::pair<double, double>> points_;
};

/// How the time of one message of a collective is read from the measurements.
enum class TimeSource : std::uint8_t {
  latency,    ///< half a round trip of that size: nothing overlaps
  bandwidth,  ///< size over the bandwidth at that size: no latency at all
  both,       ///< the latency of the smallest message, and size over bandwidth
};

std::string_view name(TimeSource source) noexcept;

/// The percentiles of the latency of one size.
struct Tail {
  double size_bytes = 0;
  std::uint64_t samples = 0;
  std::vector<Percentile> percentiles;  ///< the supported ones only: rising
};

/// The measurements of one launch, of one operation. Either curve may be missing.
struct LinkSample {
  std::string source;               ///< of the launch
  std::optional<Curve> latency_ns;  ///< medians
  std::optional<Curve> bits_per_s;
  std::vector<Tail> tails;  ///< by size, as latency_ns
};

/// Which launches a projection takes, and over which sizes.
struct LinkSamples {
  std::string operation;
  std::vector<LinkSample> latency;
  std::vector<LinkSample> bandwidth;
  std::vector<std::string> notes;  ///< "sizes 1K and 2K are not in every launch and are left out"
  std::vector<std::string> suspicions;  ///< of the launches that were taken
};

/// The launches' rows of `operation`; empty: the one operation that all of them have. Latency of
/// kind half_round_trip alone, bandwidth one way alone. Sizes that not every launch of a test has
/// are left out. Throws Error(usage) if there is nothing of the operation, no size in common, a
/// launch that ended early, or a value that is missing or 0.
LinkSamples collect_link(const std::vector<Launch>& launches, std::string operation);

}  // namespace rdmabench::analysis

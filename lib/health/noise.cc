#include "health/noise.h"

#include <algorithm>

namespace rdmabench::health {

Noise measure_noise(std::chrono::nanoseconds length) noexcept {
  constexpr double kGap = 1000;
  constexpr double kReadings = 4;
  const double reading_ns = measure::stamp_overhead_ns(measure::ClockSource::raw);
  const auto threshold = static_cast<std::uint64_t>(std::max(kGap, kReadings * reading_ns));
  return spin<measure::RawClock>(
      static_cast<std::uint64_t>(std::max<std::int64_t>(length.count(), 0)), threshold);
}

}  // namespace rdmabench::health

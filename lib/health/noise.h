// The noise floor: how long this machine interrupts a spinning thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "rdmabench/measure/clock.h"

namespace rdmabench::inline v1::health {

/// The gaps seen during a spin. All times in nanoseconds.
struct Noise {
  double spin_ns = 0;       ///< duration of the spin; 0 if it was not measured
  double threshold_ns = 0;  ///< a longer step between two clock readings is a gap
  std::uint64_t gaps = 0;
  double largest_gap_ns = 0;
  double gaps_total_ns = 0;

  /// The share of the time lost to gaps, 0..1.
  double lost() const { return spin_ns > 0 ? gaps_total_ns / spin_ns : 0; }
};

inline constexpr std::chrono::nanoseconds kNoiseSpin = std::chrono::milliseconds(20);

/// Spins on `Clock`, whose ticks are nanoseconds, until `spin_ns` have passed, at least twice.
template <class Clock>
Noise spin(std::uint64_t spin_ns, std::uint64_t threshold_ns) noexcept {
  Noise noise;
  std::uint64_t total = 0;
  std::uint64_t largest = 0;
  const measure::Ticks begin = Clock::stamp();
  measure::Ticks last = begin;
  do {
    const measure::Ticks now = Clock::stamp();
    const std::uint64_t step = now - last;
    last = now;
    if (step <= threshold_ns) continue;
    ++noise.gaps;
    total += step;
    if (step > largest) largest = step;
  } while (last - begin < spin_ns);
  noise.spin_ns = static_cast<double>(last - begin);
  noise.threshold_ns = static_cast<double>(threshold_ns);
  noise.largest_gap_ns = static_cast<double>(largest);
  noise.gaps_total_ns = static_cast<double>(total);
  return noise;
}

/// Spins on CLOCK_MONOTONIC_RAW, which needs no calibration. A gap is a step of more than 1 us, or
/// of four readings where a reading takes longer than 250 ns. Sees interrupts, other threads,
/// system management mode and a hypervisor, as hwlatdetect(8) and sysjitter do, but only those of
/// these 20 ms. Run it on the thread and CPU that will measure, never during an epoch.
inline Noise measure_noise(std::chrono::nanoseconds length = kNoiseSpin) noexcept {
  constexpr double kGap = 1000;
  constexpr double kReadings = 4;
  const double reading_ns = measure::stamp_overhead_ns(measure::ClockSource::raw);
  const auto threshold = static_cast<std::uint64_t>(std::max(kGap, kReadings * reading_ns));
  return spin<measure::RawClock>(
      static_cast<std::uint64_t>(std::max<std::int64_t>(length.count(), 0)), threshold);
}

}  // namespace rdmabench::inline v1::health

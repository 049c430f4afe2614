// measure: clocks, samples and statistics.
//
// A loop takes time stamps; this module stores and evaluates them. Intervals stay raw ticks until
// the run is over. Two anchors, taken before and after the run, then give the length of a tick
// during this run. There is no calibration beforehand.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "rdmabench/features.h"

namespace rdmabench::inline v1::measure {

/// Units of a clock's counter. tick_rate() gives their length in nanoseconds.
using Ticks = std::uint64_t;

/// CLOCK_MONOTONIC_RAW; a tick is a nanosecond. Source: clock_gettime(2).
struct RawClock {
  [[gnu::always_inline]] static Ticks stamp() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<Ticks>(now.tv_sec) * 1'000'000'000U + static_cast<Ticks>(now.tv_nsec);
  }
};

/// The processor's counter, read in order: all earlier instructions have been executed (loads have
/// their values, stores may not be visible yet), and no later one has begun. Use it only if
/// clock_choice() selects it. Sources: Intel SDM volume 2, RDTSCP; Arm ARM, CNTVCT_EL0.
struct TscClock {
  [[gnu::always_inline]] static Ticks stamp() noexcept {
#if defined(__x86_64__)
    std::uint32_t low;
    std::uint32_t high;
    asm volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high) : : "rcx", "memory");
    return static_cast<Ticks>(high) << 32 | low;
#elif defined(__aarch64__)
    Ticks now;
    asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
    return now;
#else
    return RawClock::stamp();  // only to compile; clock_choice() never selects it here
#endif
  }
};

enum class ClockSource : std::uint8_t {
  tsc,  ///< TscClock
  raw,  ///< RawClock
};

/// The facts on which the choice of a clock depends.
struct ClockFacts {
  std::string counter;             ///< the kernel's name of TscClock's counter; "" if there is none
  bool invariant = false;          ///< the rate is the same in every power state
  std::string kernel_clocksource;  ///< the kernel's clock source; "" if it cannot be read
};

struct ClockChoice {
  ClockSource source = ClockSource::raw;
  std::string reason;  ///< one line for the report
};

/// Reads the facts of this machine. A counter is invariant on x86-64 by CPUID 8000_0007 EDX[8], on
/// aarch64 by architecture. `sysfs` is where sysfs is mounted.
ClockFacts read_clock_facts(std::string_view sysfs = "/sys");

/// The counter, if it is invariant and the kernel's clock source (so that the kernel found it equal
/// on all processors); else CLOCK_MONOTONIC_RAW.
ClockChoice choose_clock(const ClockFacts& facts);

/// The choice for this machine, made once. Thread-safe.
const ClockChoice& clock_choice();

/// One reading of the chosen clock, for code outside the loops.
Ticks stamp_now() noexcept;  // NOLINT(bugprone-exception-escape): see its definition

/// The same as a clock of a loop, asked for at each stamp: a few nanoseconds, which only the
/// smallest latencies cannot afford.
struct ChosenClock {
  static Ticks stamp() noexcept { return stamp_now(); }
};

/// The values of the chosen clock and of CLOCK_MONOTONIC_RAW at one moment.
struct Anchor {
  Ticks ticks = 0;
  std::int64_t raw_ns = 0;
  Ticks bracket = 0;  ///< `raw_ns` was read within this many ticks around `ticks`
};

/// Takes the narrowest of 32 brackets (stamp, CLOCK_MONOTONIC_RAW, stamp), in a few microseconds.
/// With RawClock both values are one reading.
Anchor take_anchor(ClockSource source = clock_choice().source) noexcept;

/// The length of a tick between two anchors.
struct TickRate {
  double ns_per_tick = 1.0;
  double relative_error = 0.0;  ///< bound, from both brackets and the nanosecond of the raw clock
};

/// Anchors of RawClock give exactly {1, 0}. The error is inversely proportional to the time between
/// the anchors (about 5e-6 at 10 ms). Anchors in the wrong order or at the same time give {NaN,
/// infinity}.
TickRate tick_rate(const Anchor& begin, const Anchor& end) noexcept;

/// The cost of one stamp in a sequence of stamps, nanoseconds. Each call measures it, in about 0.2
/// ms.
double stamp_overhead_ns(ClockSource source = clock_choice().source) noexcept;

/// The smallest non-zero difference of two consecutive stamps, nanoseconds. Smaller digits of a
/// single sample are meaningless. Infinity if the clock did not change in a million stamps.
double resolution_ns(ClockSource source = clock_choice().source) noexcept;

/// The processor of this thread, to detect a migration during a run. -1 if unknown.
int current_cpu() noexcept;

}  // namespace rdmabench::inline v1::measure

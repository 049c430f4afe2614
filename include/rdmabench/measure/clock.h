// measure: time, samples, and what can honestly be said of them.
//
// It knows base and nothing of networks: a loop stamps, this room keeps and judges what was
// stamped. Intervals stay raw ticks until the run is over; two anchors, taken before and after it,
// then say what a tick was worth during this very run. Nothing is calibrated beforehand.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace rdmabench::measure {

/// Units of the counter that was read; a tick_rate() turns differences of them into nanoseconds.
using Ticks = std::uint64_t;

/// CLOCK_MONOTONIC_RAW, a tick being a nanosecond. Source: clock_gettime(2).
struct RawClock {
  static Ticks stamp() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<Ticks>(now.tv_sec) * 1'000'000'000U + static_cast<Ticks>(now.tv_nsec);
  }
};

/// The processor's own counter, read in order: all earlier instructions have been executed (loads
/// have their values; stores may still be on their way), and no later one has begun. Sources: Intel
/// SDM volume 2, RDTSCP; Arm ARM, CNTVCT_EL0. Only for use where clock_choice() says so.
struct TscClock {
  static Ticks stamp() noexcept {
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
    return RawClock::stamp();  // so that loops compile; clock_choice() never names it here
#endif
  }
};

enum class ClockSource : std::uint8_t {
  tsc,  ///< TscClock
  raw,  ///< RawClock
};

/// What the choice of a clock depends on.
struct ClockFacts {
  std::string counter;  ///< the kernel's name of TscClock's counter; "" where it has none to read
  bool invariant = false;          ///< it ticks at one rate in every power state
  std::string kernel_clocksource;  ///< what the kernel keeps time by; "" when that cannot be read
};

struct ClockChoice {
  ClockSource source = ClockSource::raw;
  std::string reason;  ///< one line for the report
};

/// This machine's facts. On x86-64 a counter is invariant by CPUID 8000_0007 EDX[8], on aarch64 by
/// architecture. `sysfs` is where sysfs is mounted.
ClockFacts read_clock_facts(std::string_view sysfs = "/sys");

/// The counter if it is invariant and the kernel trusts it too (which means that it was found to
/// agree between the processors), else CLOCK_MONOTONIC_RAW.
ClockChoice choose_clock(const ClockFacts& facts);

/// This machine's choice, made once. Thread rule: call from any thread.
const ClockChoice& clock_choice();

/// One reading of the chosen clock, for code outside the loops.
Ticks stamp_now() noexcept;  // NOLINT(bugprone-exception-escape): see its definition

/// Where the chosen clock and CLOCK_MONOTONIC_RAW stood at one moment.
struct Anchor {
  Ticks ticks = 0;
  std::int64_t raw_ns = 0;
  Ticks bracket = 0;  ///< `raw_ns` was read within this many ticks around `ticks`
};

/// The narrowest of 32 brackets (stamp, CLOCK_MONOTONIC_RAW, stamp); takes a few microseconds.
/// With RawClock the two are one reading.
Anchor take_anchor(ClockSource source = clock_choice().source) noexcept;

/// What a tick was worth between two anchors.
struct TickRate {
  double ns_per_tick = 1.0;
  double relative_error = 0.0;  ///< bound, from both brackets and the nanosecond of the raw clock
};

/// Anchors of RawClock give exactly {1, 0}. The error falls as 1 over the time between the anchors
/// (about 5e-6 at 10 ms) and is never hidden: anchors in the wrong order or at one moment give
/// {NaN, infinity}.
TickRate tick_rate(const Anchor& begin, const Anchor& end) noexcept;

/// What one stamp costs in a row of stamps, nanoseconds; measured anew at each call, in about 0.2
/// ms.
double stamp_overhead_ns(ClockSource source = clock_choice().source) noexcept;

/// The smallest non-zero difference of two stamps in a row, nanoseconds: digits below it mean
/// nothing for a single sample. Infinity if the clock stood still for a million stamps.
double resolution_ns(ClockSource source = clock_choice().source) noexcept;

/// The processor this thread is on. If it differs after a run, the run was moved. -1 if not known.
int current_cpu() noexcept;

}  // namespace rdmabench::measure

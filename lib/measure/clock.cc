#include "rdmabench/measure/clock.h"

#include <fmt/format.h>
#include <sched.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <limits>

#include "base/file.h"

namespace rdmabench::inline v1::measure {
namespace {

#if defined(__x86_64__)
bool cpuid_edx(unsigned leaf, unsigned bit) {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(leaf, &eax, &ebx, &ecx, &edx) != 0 && (edx >> bit & 1U) != 0;
}
#endif

template <class Clock>
Anchor narrowest_bracket() noexcept {
  constexpr int kTries = 32;
  Anchor best{0, 0, std::numeric_limits<Ticks>::max()};
  for (int i = 0; i < kTries; ++i) {
    const Ticks before = Clock::stamp();
    const Ticks raw = RawClock::stamp();
    const Ticks bracket = Clock::stamp() - before;
    if (bracket >= best.bracket) continue;
    best = {before + bracket / 2, static_cast<std::int64_t>(raw), bracket};
  }
  return best;
}

template <class Clock>
double overhead_ns() noexcept {
  constexpr int kBatches = 8;
  constexpr int kStamps = 1000;
  Ticks best = std::numeric_limits<Ticks>::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    const Ticks begin = RawClock::stamp();
    for (int i = 0; i < kStamps; ++i) Clock::stamp();
    best = std::min(best, RawClock::stamp() - begin);  // an interrupted batch is not the fastest
  }
  return static_cast<double>(best) / kStamps;
}

template <class Clock>
double smallest_step(ClockSource source) noexcept {
  constexpr int kStamps = 4096;
  constexpr int kMostStamps = 1 << 20;  // for a slow counter, with thousands of equal stamps
  Ticks smallest = std::numeric_limits<Ticks>::max();
  const Anchor begin = take_anchor(source);
  Ticks last = Clock::stamp();
  for (int i = 0; i < kStamps || (i < kMostStamps && smallest == ~Ticks{0}); ++i) {
    const Ticks now = Clock::stamp();
    if (now != last) smallest = std::min(smallest, now - last);
    last = now;
  }
  if (smallest == std::numeric_limits<Ticks>::max()) return std::numeric_limits<double>::infinity();
  return static_cast<double>(smallest) * tick_rate(begin, take_anchor(source)).ns_per_tick;
}

}  // namespace

ClockFacts read_clock_facts(std::string_view sysfs) {
  ClockFacts facts;
#if defined(__x86_64__)
  constexpr unsigned kFeatures = 0x80000001;
  constexpr unsigned kPower = 0x80000007;
  if (cpuid_edx(kFeatures, 27)) facts.counter = "tsc";  // RDTSCP exists
  facts.invariant = cpuid_edx(kPower, 8);
#elif defined(__aarch64__)
  facts.counter = "arch_sys_counter";
  facts.invariant = true;
#endif
  facts.kernel_clocksource = first_line(
      fmt::format("{}/devices/system/clocksource/clocksource0/current_clocksource", sysfs));
  return facts;
}

ClockChoice choose_clock(const ClockFacts& facts) {
  if (facts.counter.empty()) {
    return {ClockSource::raw, "CLOCK_MONOTONIC_RAW: this processor has no ordered counter"};
  }
  if (!facts.invariant) {
    return {ClockSource::raw, fmt::format("CLOCK_MONOTONIC_RAW: the {} is not invariant on this "
                                          "processor or virtual machine",
                                          facts.counter)};
  }
  if (facts.kernel_clocksource.empty()) {
    return {ClockSource::raw,
            "CLOCK_MONOTONIC_RAW: the kernel's clock source cannot be read from sysfs"};
  }
  if (facts.kernel_clocksource != facts.counter) {
    return {ClockSource::raw, fmt::format("CLOCK_MONOTONIC_RAW: the kernel's clock source is '{}', "
                                          "not the {}",
                                          facts.kernel_clocksource, facts.counter)};
  }
  return {ClockSource::tsc,
          fmt::format("{}: invariant, and the kernel's clock source", facts.counter)};
}

const ClockChoice& clock_choice() {
  static const ClockChoice choice = choose_clock(read_clock_facts());
  return choice;
}

// Only the first call allocates; the process ends if that fails.
Ticks stamp_now() noexcept {  // NOLINT(bugprone-exception-escape)
  return clock_choice().source == ClockSource::tsc ? TscClock::stamp() : RawClock::stamp();
}

Anchor take_anchor(ClockSource source) noexcept {
  if (source == ClockSource::tsc) return narrowest_bracket<TscClock>();
  const Ticks now = RawClock::stamp();
  return {now, static_cast<std::int64_t>(now), 0};
}

TickRate tick_rate(const Anchor& begin, const Anchor& end) noexcept {
  const auto is_raw = [](const Anchor& anchor) {
    return anchor.ticks == static_cast<Ticks>(anchor.raw_ns);
  };
  if (is_raw(begin) && is_raw(end)) return {1.0, 0.0};
  if (end.ticks <= begin.ticks || end.raw_ns <= begin.raw_ns) {
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  }
  const auto ticks = static_cast<double>(end.ticks - begin.ticks);
  const auto ns = static_cast<double>(end.raw_ns - begin.raw_ns);
  // A raw reading is at most half a bracket from its ticks, and truncated to a nanosecond.
  const double brackets = static_cast<double>(begin.bracket + end.bracket) / 2;
  return {ns / ticks, brackets / ticks + 1 / ns};
}

double stamp_overhead_ns(ClockSource source) noexcept {
  return source == ClockSource::tsc ? overhead_ns<TscClock>() : overhead_ns<RawClock>();
}

double resolution_ns(ClockSource source) noexcept {
  return source == ClockSource::tsc ? smallest_step<TscClock>(source)
                                    : smallest_step<RawClock>(source);
}

int current_cpu() noexcept {
  return sched_getcpu();
}

}  // namespace rdmabench::inline v1::measure

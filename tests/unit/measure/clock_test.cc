#include "rdmabench/measure/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../folder.h"

namespace rdmabench::inline v1::measure {
namespace {

using ::testing::HasSubstr;

void busy_wait_ns(Ticks ns) {
  const Ticks begin = RawClock::stamp();
  while (RawClock::stamp() - begin < ns) {
  }
}

TEST(ChooseClock, TakesTheCounterOnlyIfItIsInvariantAndTheKernelsOwn) {
  struct Row {
    ClockFacts facts;
    ClockSource source;
    std::string reason;
  };
  const Row table[] = {
      {{"tsc", true, "tsc"}, ClockSource::tsc, "tsc: invariant"},
      {{"arch_sys_counter", true, "arch_sys_counter"},
       ClockSource::tsc,
       "arch_sys_counter: invariant"},
      {{"tsc", false, "tsc"}, ClockSource::raw, "the tsc is not invariant"},
      {{"tsc", true, "hpet"}, ClockSource::raw, "'hpet', not the tsc"},
      {{"tsc", true, "kvm-clock"}, ClockSource::raw, "'kvm-clock'"},
      {{"tsc", true, "tsc-early"}, ClockSource::raw, "'tsc-early'"},
      {{"tsc", true, ""}, ClockSource::raw, "cannot be read"},
      {{"tsc", false, ""}, ClockSource::raw, "not invariant"},
      {{"", true, "tsc"}, ClockSource::raw, "no ordered counter"},
      {{"", false, ""}, ClockSource::raw, "no ordered counter"},
  };
  for (const Row& row : table) {
    const ClockChoice choice = choose_clock(row.facts);
    EXPECT_EQ(choice.source, row.source) << row.reason;
    EXPECT_THAT(choice.reason, HasSubstr(row.reason));
    EXPECT_EQ(choice.reason.find('\n'), std::string::npos);
  }
}

TEST(ClockFacts, HoldTheKernelsClockSourceWithoutItsLineEnd) {
  const Folder root;
  root.write("devices/system/clocksource/clocksource0/current_clocksource", "acpi_pm\n");
  EXPECT_EQ(read_clock_facts(root.path()).kernel_clocksource, "acpi_pm");
  EXPECT_EQ(read_clock_facts(root.file("none")).kernel_clocksource, "");
}

TEST(ClockChoice, IsMadeFromThisMachinesFacts) {
  const ClockChoice expected = choose_clock(read_clock_facts());
  EXPECT_EQ(clock_choice().source, expected.source);
  EXPECT_EQ(clock_choice().reason, expected.reason);
  EXPECT_EQ(&clock_choice(), &clock_choice());
}

template <class Clock>
void expect_rising_stamps() {
  Ticks last = Clock::stamp();
  const Ticks first = last;
  for (int i = 0; i < 10000; ++i) {
    const Ticks now = Clock::stamp();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(last, first);
}

TEST(Stamp, NeverFallsAndDoesRise) {
  expect_rising_stamps<RawClock>();
  if (clock_choice().source == ClockSource::tsc) expect_rising_stamps<TscClock>();
}

TEST(StampNow, ReadsTheChosenClock) {
  const bool tsc = clock_choice().source == ClockSource::tsc;
  const Ticks before = tsc ? TscClock::stamp() : RawClock::stamp();
  const Ticks now = stamp_now();
  const Ticks after = tsc ? TscClock::stamp() : RawClock::stamp();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(TickRate, TurnsTicksIntoTheNanosecondsOfTheRawClock) {
  if (clock_choice().source != ClockSource::tsc) GTEST_SKIP() << clock_choice().reason;
  const Anchor begin = take_anchor();
  busy_wait_ns(1'000'000);
  const Anchor middle = take_anchor();
  busy_wait_ns(1'000'000);
  const Anchor end = take_anchor();
  const TickRate whole = tick_rate(begin, end);
  const TickRate half = tick_rate(begin, middle);
  EXPECT_LT(whole.relative_error, 1e-2);
  EXPECT_LT(whole.relative_error, half.relative_error + tick_rate(middle, end).relative_error);
  EXPECT_NEAR(whole.ns_per_tick / half.ns_per_tick, 1, whole.relative_error + half.relative_error);
  const auto predicted = static_cast<double>(middle.ticks - begin.ticks) * whole.ns_per_tick;
  const auto elapsed = static_cast<double>(middle.raw_ns - begin.raw_ns);
  EXPECT_NEAR(predicted, elapsed, elapsed * (whole.relative_error + half.relative_error));
}

TEST(TickRate, IsBoundedByItsBracketsOverTheRun) {
  // 3 ticks to the nanosecond; each raw reading is off by half a bracket, the two in opposite
  // directions.
  const Anchor begin{3'000'000, 1'000'050, 300};
  const Anchor end{6'000'000, 1'999'950, 300};
  const TickRate rate = tick_rate(begin, end);
  EXPECT_NEAR(rate.ns_per_tick * 3, 1, rate.relative_error);
  EXPECT_NEAR(rate.relative_error, 300.0 / 3e6 + 1e-6, 1e-9);
}

TEST(TickRate, OfTheRawClockIsExactlyOne) {
  const Anchor begin = take_anchor(ClockSource::raw);
  const Anchor end = take_anchor(ClockSource::raw);
  for (const TickRate& rate : {tick_rate(begin, end), tick_rate(begin, begin)}) {
    EXPECT_EQ(rate.ns_per_tick, 1.0);
    EXPECT_EQ(rate.relative_error, 0.0);
  }
}

TEST(TickRate, AdmitsThatAnchorsTooNearSayLittle) {
  const TickRate rough = tick_rate({1000, 5000, 100}, {1300, 5100, 100});
  EXPECT_GT(rough.relative_error, 0.3);
  const TickRate none = tick_rate({1000, 5000, 100}, {1000, 5000, 100});
  EXPECT_TRUE(std::isnan(none.ns_per_tick));
  EXPECT_TRUE(std::isinf(none.relative_error));
}

TEST(StampOverhead, IsPlausible) {
  for (const ClockSource source : {ClockSource::raw, clock_choice().source}) {
    EXPECT_GT(stamp_overhead_ns(source), 0.5);
    EXPECT_LT(stamp_overhead_ns(source), 100'000);
  }
}

TEST(Resolution, IsAboveZeroAndFinite) {
  for (const ClockSource source : {ClockSource::raw, clock_choice().source}) {
    EXPECT_GT(resolution_ns(source), 0);
    EXPECT_LT(resolution_ns(source), 100e6);
  }
}

TEST(CurrentCpu, IsKnown) {
  EXPECT_GE(current_cpu(), 0);
}

}  // namespace
}  // namespace rdmabench::inline v1::measure

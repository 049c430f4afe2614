#include "rdmabench/workload/epoch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace {
std::atomic<int> yields{0};
}

/// In place of the C library's, for the whole program.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace rdmabench::inline v1::workload {
namespace {

using namespace std::chrono_literals;

TEST(Watch, GivesUpWhenNothingMovesForTheLimit) {
  Watch watch(5ms, nullptr);
  const auto begin = std::chrono::steady_clock::now();
  while (!watch.give_up()) {
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
  EXPECT_EQ(watch.outcome(), Outcome::stalled);
}

TEST(Watch, ProgressStartsTheLimitAnew) {
  Watch watch(300ms, nullptr);  // a busy machine takes the processor away for less
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < 320ms) {
    for (std::uint64_t i = 0; i < 3 * Watch::kPollsPerLook; ++i) ASSERT_FALSE(watch.give_up());
    watch.progress();
  }
}

TEST(Watch, YieldsToAPeerThatMayWaitForThisProcessor) {
  Watch watch(10s, nullptr);
  const int before = yields;
  for (std::uint64_t i = 0; i < 3 * Watch::kPollsPerLook; ++i) ASSERT_FALSE(watch.give_up());
  EXPECT_EQ(yields - before, 3);
}

TEST(Watch, LetsAThreadThatFindsNothingRestAndThenPollAFew) {
  int rests = 0;
  bool crowded = false;
  std::chrono::nanoseconds idle{-1};
  Watch watch(10s, nullptr, nullptr, [&](std::chrono::nanoseconds waited) {
    ++rests;
    EXPECT_LE(idle, waited);
    idle = waited;
    return crowded;
  });
  const auto poll = [&](std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) ASSERT_FALSE(watch.give_up());
  };
  const int before = yields;
  poll(Watch::kPollsPerLook - 1);
  EXPECT_EQ(rests, 0);
  poll(1);
  EXPECT_EQ(rests, 1);
  EXPECT_EQ(idle, 0ns);
  EXPECT_EQ(yields - before, 1);
  crowded = true;
  poll(Watch::kPollsPerLook);
  EXPECT_EQ(rests, 2);
  poll(3 * Watch::kPollsPerRest);
  EXPECT_EQ(rests, 5);
  EXPECT_EQ(yields - before, 1);
  watch.progress();
  poll(Watch::kPollsPerLook - 1);
  EXPECT_EQ(rests, 5);
}

TEST(Watch, GivesUpWhenThePeerHasGone) {
  int asked = 0;
  Watch watch(10s, [&] { return ++asked == 2; });
  while (!watch.give_up()) {
  }
  EXPECT_EQ(watch.outcome(), Outcome::interrupted);
  EXPECT_EQ(asked, 2);
}

TEST(Watch, LearnsOfAnAnswerByTheOtherWay) {
  Watch watch(
      10s, [] { return false; }, [] { return true; });
  EXPECT_FALSE(watch.answered());
  while (!watch.answered()) ASSERT_FALSE(watch.give_up());
}

TEST(Watch, TakesNoAnswerWhileMoreMayCome) {
  int asked = 0;
  Watch watch(
      10s, [] { return false; }, [] { return true; });
  watch.let_grow(1, true, [&](Extent& extent, const EpochResult*) { extent.whole = ++asked == 3; });
  while (asked < 3) {
    EXPECT_FALSE(watch.answered());
    ASSERT_FALSE(watch.give_up());
  }
  EXPECT_TRUE(watch.answered());
}

TEST(Watch, WhatIsAddedIsNoSignOfLifeWhereMessagesAreSeen) {
  Watch watch(30ms, nullptr);
  watch.let_grow(1, false, [](Extent& extent, const EpochResult*) { ++extent.iterations; });
  while (!watch.give_up()) {
  }
  EXPECT_EQ(watch.outcome(), Outcome::stalled);
}

TEST(Watch, AnExcusedWaitIsNoStallButAPeerThatHasGoneIsSeen) {
  bool gone = false;
  Watch watch(1ms, [&] { return gone; });
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < 20ms) {
    watch.nothing_due();
    ASSERT_FALSE(watch.give_up());
  }
  gone = true;
  do {
    watch.nothing_due();
  } while (!watch.give_up());
  EXPECT_EQ(watch.outcome(), Outcome::interrupted);
}

struct Device {
  bool failed = false;
  int asked = 0;
  bool device_failed() noexcept {
    ++asked;
    return failed;
  }
};

TEST(Watch, ADeviceThatFailedIsNoStall) {
  Device device{.failed = true};
  Watch watch(0ns, [] { return true; });
  watch.watch_device(device);
  while (!watch.give_up()) {
  }
  EXPECT_EQ(watch.outcome(), Outcome::completion_failed);
  EXPECT_EQ(device.asked, 1);
}

TEST(Watch, AHealthyDeviceEndsNothing) {
  Device device;
  int asked = 0;
  Watch watch(10s, [&] { return ++asked == 2; });
  watch.watch_device(device);
  while (!watch.give_up()) {
  }
  EXPECT_EQ(watch.outcome(), Outcome::interrupted);
  EXPECT_EQ(device.asked, 2);
}

TEST(Watch, LooksAfterEachPollThatSleeps) {
  Watch watch(0ns, nullptr);
  watch.look_always();
  EXPECT_TRUE(watch.give_up());
}

TEST(Watch, AsksNobodyInTheFirstPolls) {
  Watch watch(0ns, [] { return true; });
  for (std::uint64_t i = 1; i < Watch::kPollsPerLook; ++i) EXPECT_FALSE(watch.give_up());
  EXPECT_TRUE(watch.give_up());
}

}  // namespace
}  // namespace rdmabench::inline v1::workload

#include "run/processors.h"

#include <gtest/gtest.h>

namespace rdmabench::inline v1::run {
namespace {

using namespace std::chrono_literals;

TEST(Processors, AllThreadsSpinWhileThereIsOneForEach) {
  Processors four(4);
  const Polling first(four, "a", 3);
  const Polling second(four, "b", 1);
  EXPECT_EQ(first.rest(), 0);
  EXPECT_EQ(second.rest(), 0);
}

TEST(Processors, AnAddressWithMoreThanItsPartRestsAndTheOtherSpins) {
  Processors two(2);
  const Polling greedy(two, "a", 192);
  const Polling more(two, "a", 64);
  const Polling honest(two, "b", 1);
  EXPECT_EQ(greedy.rest(), 255);  // 256 threads on one processor
  EXPECT_EQ(more.rest(), 255);
  EXPECT_EQ(honest.rest(), 0);
}

TEST(Processors, ThreadsOfManyAddressesTakeNoMoreThanThereAreEither) {
  Processors two(2);
  const Polling a(two, "a", 1);
  const Polling b(two, "b", 1);
  const Polling c(two, "c", 2);
  EXPECT_EQ(a.rest(), 0.5);
  EXPECT_EQ(c.rest(), 2);
}

TEST(Processors, WhatEndsMakesRoom) {
  Processors two(2);
  const Polling stays(two, "a", 2);
  {
    const Polling other(two, "b", 1);
    EXPECT_EQ(stays.rest(), 1);
  }
  EXPECT_EQ(stays.rest(), 0);
}

class IdleThreadTest : public ::testing::Test {
 protected:
  Processors one_{1};
  Polling polling_{one_, "a", 11};  // each a tenth of the time, and a bit
  IdleThread thread_{100ms};
};

TEST_F(IdleThreadTest, SpinsForAMillisecondAndThenSleepsLongerThanItPolled) {
  thread_.note(900us);
  EXPECT_EQ(thread_.nap(polling_, 5ms), 0ns);
  thread_.note(1100us);
  EXPECT_EQ(thread_.nap(polling_, 5ms + 200us), 2ms);
  thread_.note(3300us);
  EXPECT_EQ(thread_.nap(polling_, 5ms + 210us), 100us);
  thread_.note(0us);  // something completed
  EXPECT_EQ(thread_.nap(polling_, 6ms), 0ns);
}

TEST_F(IdleThreadTest, SleepsATenthOfASecondAtMost) {
  thread_.note(1s);
  EXPECT_EQ(thread_.nap(polling_, 1s), 100ms);
}

TEST_F(IdleThreadTest, CountsTimesInWhichNothingArrived) {
  for (const auto waited : {0ms, 50ms, 99ms, 0ms, 50ms, 100ms, 200ms, 0ms, 10ms, 300ms}) {
    thread_.note(waited);
  }
  EXPECT_EQ(thread_.paused(), 500ms);
  EXPECT_EQ(thread_.paused(), 500ms);
}

}  // namespace
}  // namespace rdmabench::inline v1::run

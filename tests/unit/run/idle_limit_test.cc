#include "run/idle_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"

namespace rdmabench::inline v1::run {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class IdleLimitTest : public ::testing::Test {
 protected:
  void epoch(IdleLimit::Duration lasts, IdleLimit::Duration paused = {}) {
    now_ += lasts;
    idle_.begin_wait(now_, paused);
  }
  void wait(IdleLimit::Duration lasts) {
    now_ += lasts;
    idle_.end_wait(now_);
  }

  IdleLimit::Time now_{};
  IdleLimit idle_{10s, now_, "rdmabench serve"};
};

TEST_F(IdleLimitTest, LetsAClientPauseAsLongAsItMeasuresAndALittleMore) {
  for (int i = 0; i < 100; ++i) {
    epoch(7s);
    wait(7s);
  }
  epoch(1s);
  wait(4s);
}

TEST_F(IdleLimitTest, ShortWaitsDoNotCount) {
  for (int i = 0; i < 100; ++i) {
    epoch(1ms);
    wait(999ms);
  }
}

TEST_F(IdleLimitTest, EndsASessionThatMeasuresLittle) {
  epoch(1s);
  wait(6s);
  epoch(1s);
  EXPECT_EQ(idle_.left(), 5s);
  EXPECT_THAT(complaint([&] { wait(6s); }).what(), has_all("11000ms", "10000ms", "--max-idle"));
}

TEST_F(IdleLimitTest, ATimeInWhichNothingArrivesIsAPauseToo) {
  epoch(8s, 7s);
  EXPECT_EQ(idle_.left(), 4s);
  wait(0s);
  EXPECT_THAT(complaint([&] { epoch(5s, 5s); }).what(), HasSubstr("--max-idle"));
}

TEST_F(IdleLimitTest, AServerWithoutOptionsNamesNone) {
  IdleLimit of_one_shot(10s, now_, "");
  EXPECT_THAT(complaint([&] { of_one_shot.refuse(11s); }).what(),
              ::testing::EndsWith("Measure without pauses."));
}

TEST_F(IdleLimitTest, MeasuringMakesUpForIt) {
  epoch(8s, 7s);
  wait(0s);
  epoch(60s);
  EXPECT_EQ(idle_.left(), 10s);
}

}  // namespace
}  // namespace rdmabench::inline v1::run

// The fastest part of a bandwidth test.
#include "run/peak_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rdmabench::inline v1::run {
namespace {

TEST(PeakRate, IsOfTheFastestEpochThatIsNoProbe) {
  PeakRate peak;
  peak.add(1, 10, false, true);
  peak.add(1000, 100e3, false, true);
  peak.add(1000, 50e3, false, true);
  EXPECT_DOUBLE_EQ(peak.fastest_ns(), 50);
}

TEST(PeakRate, OfAStreamIsOfStretchesOfManyButTheFirstOfEachEpoch) {
  PeakRate peak;
  for (int epoch = 0; epoch < 2; ++epoch) {
    peak.add(1'000'000, 200e6, true, false);  // fills buffers
    peak.add(1, 1, true, false);              // a moment
    peak.add(100'000, 200e6, true, true);
  }
  EXPECT_NEAR(peak.fastest_ns(), 2000, 1);
}

TEST(PeakRate, OfAShortStreamIsNotKnown) {
  PeakRate peak;
  peak.add(1'000'000, 200e6, true, false);
  peak.add(10, 400e6, true, true);
  EXPECT_TRUE(std::isinf(peak.fastest_ns()));
}

}  // namespace
}  // namespace rdmabench::inline v1::run

#include "health/noise.h"

#include <gtest/gtest.h>

#include <array>

namespace rdmabench::inline v1::health {
namespace {

/// Gives the stamps of a script, then ever later ones.
struct ScriptedClock {
  static inline std::array<std::uint64_t, 8> stamps{};
  static inline std::size_t next = 0;
  static measure::Ticks stamp() noexcept {
    return next < stamps.size() ? stamps.at(next++) : stamps.back() + 1000000 * next++;
  }
};

TEST(Noise, CountsTheGapsBeyondTheThreshold) {
  ScriptedClock::stamps = {100, 150, 1150, 1151, 6151, 6200, 7201, 10100};
  ScriptedClock::next = 0;
  const Noise noise = spin<ScriptedClock>(10000, 1000);
  EXPECT_EQ(noise.gaps, 3U);  // 5000, 1001 and 2899; 1000 is none
  EXPECT_EQ(noise.largest_gap_ns, 5000);
  EXPECT_EQ(noise.gaps_total_ns, 8900);
  EXPECT_EQ(noise.spin_ns, 10000);
  EXPECT_EQ(noise.threshold_ns, 1000);
  EXPECT_DOUBLE_EQ(noise.lost(), 0.89);
}

TEST(Noise, EndsThoughItIsAskedForNothing) {
  ScriptedClock::stamps = {5, 5, 5, 5, 5, 5, 5, 5};
  ScriptedClock::next = 0;
  EXPECT_EQ(spin<ScriptedClock>(0, 1000).gaps, 0U);
  EXPECT_EQ(Noise().lost(), 0);
}

TEST(Noise, OfThisMachineIsConsistent) {
  const Noise noise = measure_noise(std::chrono::milliseconds(2));
  EXPECT_GE(noise.spin_ns, 2e6);
  EXPECT_GE(noise.threshold_ns, 1000);
  EXPECT_LE(noise.largest_gap_ns, noise.gaps_total_ns);
  EXPECT_LE(noise.gaps_total_ns, noise.spin_ns);
  EXPECT_GE(noise.gaps_total_ns, static_cast<double>(noise.gaps) * noise.threshold_ns);
  EXPECT_GE(measure_noise(std::chrono::nanoseconds(-5)).spin_ns, 0);
}

}  // namespace
}  // namespace rdmabench::inline v1::health

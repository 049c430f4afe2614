#include "collective/numbers.h"

#include <gtest/gtest.h>

namespace rdmabench::inline v1::collective {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kEpoch = 100 * kMs;  // what the tester's epochs aim at

struct Spent {
  std::uint64_t comparisons = 0;
  std::uint64_t epochs = 0;
  std::uint64_t longest_ns = 0;  // from the end of a comparison to the beginning of an epoch
};

/// Epochs for 100 s of a clock that only they and the comparisons move.
Spent simulate(std::uint64_t comparison_ns) {
  Spent spent;
  ClockHold hold;
  std::uint64_t now = 17;
  std::uint64_t ended = 0;
  for (const std::uint64_t end = now + 100'000 * kMs; now < end; now += kEpoch) {
    if (!hold.holds(now)) {
      const std::uint64_t began = now;
      now += comparison_ns;
      hold.compared(began, now);
      ended = now;
      ++spent.comparisons;
    }
    spent.longest_ns = std::max(spent.longest_ns, now - ended);
    ++spent.epochs;
  }
  return spent;
}

TEST(ClockHold, NothingIsKnownBeforeTheFirstComparison) {
  EXPECT_FALSE(ClockHold().holds(0));
  EXPECT_FALSE(ClockHold().holds(5));
}

TEST(ClockHold, AShortComparisonHoldsForASecond) {
  const Spent spent = simulate(kMs);
  EXPECT_LE(spent.longest_ns, 1000 * kMs);
  EXPECT_GE(spent.longest_ns, 900 * kMs);
  EXPECT_NEAR(static_cast<double>(spent.comparisons), 91, 2);
}

TEST(ClockHold, AComparisonOfASecondIsNotBeforeEveryEpoch) {
  const Spent spent = simulate(1000 * kMs);
  EXPECT_LE(spent.comparisons * 1000 * kMs, 10'000 * kMs) << "a tenth of the time";
  EXPECT_GE(spent.epochs, 90 * spent.comparisons);
  EXPECT_LE(spent.longest_ns, 10'000 * kMs);
}

TEST(ClockHold, IsFromTheEndOfTheComparison) {
  ClockHold hold;
  hold.compared(0, 3000 * kMs);
  EXPECT_TRUE(hold.holds(3000 * kMs));
  EXPECT_TRUE(hold.holds(33'000 * kMs));
  EXPECT_FALSE(hold.holds(33'000 * kMs + 1));
}

}  // namespace
}  // namespace rdmabench::inline v1::collective

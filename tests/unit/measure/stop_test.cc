#include "rdmabench/measure/stop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::measure {
namespace {

using std::chrono::nanoseconds;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// What epochs a stopper asked for, where an iteration takes what `cost_ns` says and nothing is
/// measured.
struct Epochs {
  std::vector<std::uint64_t> sizes;
  std::vector<double> elapsed_ns;
};

Epochs simulate(Stopper& stopper, const std::function<double(std::size_t epoch)>& cost_ns) {
  Epochs run;
  while (const std::uint64_t n = stopper.next_epoch()) {
    const double each = cost_ns(run.sizes.size());
    run.sizes.push_back(n);
    run.elapsed_ns.push_back(static_cast<double>(n) * each);
    stopper.add(n, run.elapsed_ns.back(), each);
    if (run.sizes.size() > 100'000) {
      ADD_FAILURE() << "it never ends";
      break;
    }
  }
  return run;
}

std::function<double(std::size_t)> constant(double ns) {
  return [ns](std::size_t) { return ns; };
}

TEST(StopRules, AreCheckedHoweverTheyWereWritten) {
  const auto refusal = [](const StopRule& rule) { return usage_complaint([&] { rule.check(); }); };
  EXPECT_THAT(refusal({.kind = StopRule::Kind::iterations, .count = 0}), HasSubstr("iterations 0"));
  EXPECT_THAT(refusal({.kind = StopRule::Kind::duration, .time = -1ns}), HasSubstr("-1 ns"));
  EXPECT_THAT(refusal({.stability = {.min_epochs = 1}}), HasSubstr("min_epochs 1"));
  EXPECT_THAT(refusal({.kind = static_cast<StopRule::Kind>(9)}), HasSubstr("kind 9"));
  EXPECT_NO_THROW(StopRule().check());
}

TEST(StopByIterations, RunsExactlyAsManyInEpochsOfBoundedSize) {
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1000}, Stopper::kMaxEpoch,
                                    Stopper::kMaxEpoch + 1, 5 * Stopper::kMaxEpoch + 7}) {
    Stopper stopper(StopRule::iterations(count));
    EXPECT_FALSE(stopper.converged());
    const Epochs run = simulate(stopper, constant(2000));
    EXPECT_EQ(stopper.iterations(), count);
    EXPECT_EQ(run.sizes.size(), (count + Stopper::kMaxEpoch - 1) / Stopper::kMaxEpoch);
    for (const auto epoch : run.sizes) EXPECT_LE(epoch, Stopper::kMaxEpoch);
    EXPECT_TRUE(stopper.converged());
  }
}

TEST(StopByDuration, EndsWithinOneEpochOfTheTimeAtAnySpeed) {
  for (const nanoseconds time : {nanoseconds(10s), nanoseconds(250ms), nanoseconds(1ms)}) {
    for (const double each : {0.5, 3.0, 250.0, 2e3, 1e5, 3e7, 2e9}) {
      Stopper stopper(StopRule::duration(time));
      simulate(stopper, constant(each));
      const auto asked = static_cast<double>(time.count());
      const double longest = std::max(each, std::min(100e6, asked / 5));
      EXPECT_NEAR(stopper.elapsed_ns(), asked, std::max(longest, each)) << asked << " at " << each;
      EXPECT_TRUE(stopper.converged());
    }
  }
}

TEST(StopByDuration, KeepsItsTimeWhenTheSpeedVaries) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> each(1500, 3000);
  Stopper stopper(StopRule::duration(10s));
  const Epochs run = simulate(stopper, [&](std::size_t) { return each(random); });
  EXPECT_NEAR(stopper.elapsed_ns(), 10e9, 0.2e9);
  for (const double elapsed : run.elapsed_ns) EXPECT_LT(elapsed, 0.25e9);
}

TEST(StopByDuration, GrowsFromOneIterationAtMostSixteenfold) {
  Stopper stopper(StopRule::duration(10s));
  const Epochs run = simulate(stopper, constant(2000));
  EXPECT_EQ(run.sizes.front(), 1U);
  for (std::size_t i = 1; i < run.sizes.size(); ++i) {
    EXPECT_LE(run.sizes[i], 16 * run.sizes[i - 1]);
  }
  EXPECT_NEAR(static_cast<double>(run.sizes[run.sizes.size() / 2]), 50'000, 1000);  // 100 ms
}

TEST(StopByDuration, EndsCloseToItsTimeAndInNoSliverOfAnEpoch) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> each(1960, 2040);
  for (const nanoseconds time : {1000ms, 1010ms, 1030ms, 1050ms, 1070ms, 1090ms}) {
    Stopper stopper(StopRule::duration(time));
    const Epochs run = simulate(stopper, [&](std::size_t) { return each(random); });
    EXPECT_NEAR(stopper.elapsed_ns(), static_cast<double>(time.count()), 10e6);
    EXPECT_GT(run.elapsed_ns.back(), 45e6);
  }
}

TEST(StopByDuration, NeverAsksForMoreThanTheLargestEpoch) {
  Stopper stopper(StopRule::duration(1s));
  for (const auto epoch : simulate(stopper, constant(3)).sizes)
    EXPECT_LE(epoch, Stopper::kMaxEpoch);
}

TEST(StopByDuration, CutsAShortRunIntoFiveEpochsOrMore) {
  Stopper stopper(StopRule::duration(1ms));
  const Epochs run = simulate(stopper, constant(100));
  EXPECT_GE(run.sizes.size(), 5U);
  for (const double elapsed : run.elapsed_ns) EXPECT_LE(elapsed, 0.21e6);
}

TEST(StopByDuration, GoesOnWhereNoTimeSeemsToPass) {
  Stopper stopper(StopRule::duration(1ms));
  stopper.add(1, 0, 0);
  EXPECT_EQ(stopper.next_epoch(), 16U);
  stopper.add(16, -5, 0);
  EXPECT_GE(stopper.next_epoch(), 1U);
  EXPECT_LE(stopper.next_epoch(), Stopper::kMaxEpoch);
}

TEST(StopWhenStable, EndsSoonAfterTheLeastTimeOnAQuietMachine) {
  Stopper stopper(StopRule::stable());
  const Epochs run = simulate(stopper, constant(2000));
  EXPECT_TRUE(stopper.converged());
  EXPECT_EQ(stopper.spread(), 0);
  EXPECT_GE(stopper.elapsed_ns(), 0.5e9);
  EXPECT_LT(stopper.elapsed_ns(), 0.7e9);
  EXPECT_GE(run.sizes.size(), 22U);
}

TEST(StopWhenStable, RunsForTheLeastTimeEvenIfItsEpochsAreShort) {
  Stopper stopper(StopRule::stable());
  simulate(stopper, constant(3));  // the largest epoch takes 3 ms
  EXPECT_TRUE(stopper.converged());
  EXPECT_GE(stopper.elapsed_ns(), 0.5e9);
}

/// How a run of the rule "stable" ends where an iteration takes that long.
Stopper ended(const std::function<double(std::size_t)>& cost_ns) {
  Stopper stopper(StopRule::stable());
  EXPECT_EQ(stopper.disagreement(), Disagreement::none) << "nothing is known";
  simulate(stopper, cost_ns);
  return stopper;
}

TEST(StopWhenStable, GivesUpEarlyWhereTheMostTimeWouldNotBeEnoughAndSaysWhy) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> each(1000, 3000);
  std::normal_distribution<double> normal;
  double state = 0;
  using enum Disagreement;
  const std::vector<std::pair<Disagreement, std::function<double(std::size_t)>>> machines{
      {noise, [&](std::size_t) { return each(random); }},
      {two_speeds, [](std::size_t epoch) { return epoch % 21 < 11 ? 4000.0 : 5000.0; }},
      {drift, [&](std::size_t i) { return 2000 + 20 * static_cast<double>(i) + each(random) / 9; }},
      {dependence,
       [&](std::size_t) { return 9000 + 300 * (state = state * 0.8 + normal(random)); }}};
  for (const auto& [why, cost_ns] : machines) {
    const Stopper stopper = ended(cost_ns);
    EXPECT_FALSE(stopper.converged());
    EXPECT_EQ(stopper.disagreement(), why);
    EXPECT_LT(stopper.elapsed_ns(), 2.5e9);
  }
}

TEST(StopWhenStable, EndsUnstableAtTheMostTimeWhereThatWouldNearlyDo) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> each(2000, 75);
  const Stopper stopper = ended([&](std::size_t) { return each(random); });
  EXPECT_EQ(stopper.disagreement(), Disagreement::noise);
  EXPECT_EQ(name(stopper.disagreement()), "noise");
  EXPECT_NEAR(stopper.elapsed_ns(), 10e9, 0.2e9);
}

TEST(StopWhenStable, LooksWhenTheEpochsHaveDoubled) {
  std::mt19937_64 random(9);
  for (const double noise : {4.0, 20.0, 30.0, 40.0}) {
    std::normal_distribution<double> each(2000, noise);
    const std::size_t count = ended([&](std::size_t) { return each(random); }).locations().size();
    const std::size_t doubled = std::bit_floor(count / 22);
    EXPECT_LE(count - 22 * doubled, 2 * doubled) << count;
  }
}

TEST(StopWhenStable, TakesMoreEpochsInsteadOfGivingUpOnEvenNoise) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> each(2000, 20);  // 1 %
  Stopper stopper(StopRule::stable());
  simulate(stopper, [&](std::size_t) { return each(random); });
  EXPECT_TRUE(stopper.converged());
  EXPECT_EQ(stopper.disagreement(), Disagreement::none);
  EXPECT_GT(stopper.spread(), 0.005);
  EXPECT_LE(stopper.uncertainty(), 0.005);
  EXPECT_GT(stopper.elapsed_ns(), 0.8e9);
  EXPECT_LT(stopper.elapsed_ns(), 6e9);
}

/// Of a stream that takes so long for a message, in as many parts as it has marks.
std::vector<std::uint64_t> stream_epochs(const StopRule& rule, double each_ns, std::size_t parts) {
  Stopper stopper(rule, Location::mean);
  stopper.expect(100, 100 * each_ns);
  std::vector<std::uint64_t> epochs;
  while (const std::uint64_t n = stopper.next_epoch()) {
    epochs.push_back(n);
    stopper.add(n, static_cast<double>(n) * each_ns, std::vector<double>(parts, each_ns));
  }
  EXPECT_TRUE(stopper.converged());
  return epochs;
}

TEST(Stream, RestsSeldom) {
  using ::testing::AnyOf;
  using ::testing::Each;
  EXPECT_THAT(stream_epochs(StopRule::stable(), 10'000, 31), Each(25'000));
  EXPECT_THAT(stream_epochs(StopRule::duration(2s), 10'000, 31), Each(25'000));
  EXPECT_THAT(stream_epochs(StopRule::duration(2s), 40e6, 1), Each(AnyOf(5, 6)));
  // Too few messages for parts: many short epochs, as of a latency.
  EXPECT_EQ(stream_epochs(StopRule::stable(), 20e6, 1).size(), 25U);
}

TEST(Stream, CountsWhatIsAgreedOnAlready) {
  Stopper timed(StopRule::duration(1s), Location::mean);
  timed.add(50'000, 0.5e9, 10'000);
  EXPECT_EQ(timed.next_epoch(), 25'000U);
  EXPECT_EQ(timed.next_epoch(30'000), 20'000U);
  EXPECT_EQ(timed.next_epoch(49'000), 0U);
  Stopper counted(StopRule::iterations(100), Location::mean);
  counted.add(50, 1, 1);
  EXPECT_EQ(counted.next_epoch(20), 30U);
  EXPECT_EQ(counted.next_epoch(50), 0U);
}

TEST(StopWhenStable, IsNotMisledByTheShortEpochsBeforeTheSpeedIsKnown) {
  // The start and end of an epoch cost 30 us: much of a short one, nothing of a long one.
  Stopper stopper(StopRule::stable());
  stopper.add(1, 32'000, 32'000);
  stopper.add(16, 62'000, 3'875);
  EXPECT_TRUE(std::isnan(stopper.spread()));  // neither counts
  while (const std::uint64_t n = stopper.next_epoch()) {
    const double elapsed = 30'000 + 2000.0 * static_cast<double>(n);
    stopper.add(n, elapsed, elapsed / static_cast<double>(n));
  }
  EXPECT_TRUE(stopper.converged());
  EXPECT_LT(stopper.spread(), 1e-3);
  EXPECT_LT(stopper.elapsed_ns(), 0.7e9);
}

TEST(StopWhenStable, DoesNotJudgeByFewerEpochsThanAsked) {
  Stopper stopper(StopRule::stable({0.005, 0ms, 10s, 20}));
  const Epochs run = simulate(stopper, constant(0.4e9));  // longer than an epoch should be
  EXPECT_EQ(run.sizes.size(), 20U);
  EXPECT_TRUE(stopper.converged());
}

TEST(StopWhenStable, EndsUnstableWhenTheMostTimeHoldsTooFewEpochs) {
  Stopper stopper(StopRule::stable());
  const Epochs run = simulate(stopper, constant(3e9));
  EXPECT_EQ(run.sizes, (std::vector<std::uint64_t>{1, 1, 1, 1}));
  EXPECT_FALSE(stopper.converged());
  EXPECT_EQ(stopper.disagreement(), Disagreement::few);
}

TEST(Spread, IsTheMedianDistanceFromTheMedianRelativeToIt) {
  Stopper stopper(StopRule::iterations(100));
  EXPECT_TRUE(std::isnan(stopper.spread()));
  stopper.add(10, 1, 100);
  EXPECT_TRUE(std::isnan(stopper.spread()));
  for (const double location : {102.0, 104.0, 99.0, 1000.0}) stopper.add(10, 1, location);
  EXPECT_DOUBLE_EQ(stopper.spread(), 2.0 / 102.0);
}

TEST(Uncertainty, IsHalfTheIntervalOfTheMeanRelativeToIt) {
  Stopper stopper(StopRule::iterations(1000), Location::mean);
  EXPECT_TRUE(std::isnan(stopper.uncertainty()));
  for (const double i : {7, 3, 11, 1, 5, 9, 2, 10, 4, 8, 6}) stopper.add(10, 1, 100 + i);
  // Variance 11, t(0.995, 10) = 3.1693.
  EXPECT_NEAR(stopper.uncertainty(), 3.1693 * std::sqrt(11.0 / 11) / 106, 1e-5);
}

TEST(Locations, AreWithoutProbesAndRests) {
  Stopper stopper(StopRule::iterations(1'000'000));
  for (const std::uint64_t count : {16U, 4096U, 400'000U, 400'000U, 90'000U}) {
    stopper.add(count, 1, static_cast<double>(count));
  }
  EXPECT_THAT(stopper.locations(), ::testing::ElementsAre(400'000, 400'000));
}

TEST(StopRule, RefusesWhatNobodyCanMean) {
  EXPECT_THAT(usage_complaint([] { StopRule::iterations(0); }), HasSubstr("iterations 0"));
  EXPECT_THAT(usage_complaint([] { StopRule::duration(0s); }), HasSubstr("10s or 250ms"));
  EXPECT_THAT(usage_complaint([] { StopRule::duration(-5ns); }), HasSubstr("-5 ns"));
  EXPECT_THAT(usage_complaint([] { StopRule::stable({0, 1s, 2s, 11}); }), HasSubstr("max_noise 0"));
  EXPECT_THAT(usage_complaint([] {
                StopRule::stable({std::nan(""), 1s, 2s, 11});
              }),
              HasSubstr("max_noise"));
  EXPECT_THAT(usage_complaint([] { StopRule::stable({0.1, 3s, 2s, 11}); }), HasSubstr("max_time"));
  EXPECT_THAT(usage_complaint([] { StopRule::stable({0.1, 0s, 0s, 11}); }), HasSubstr("max_time"));
  EXPECT_THAT(usage_complaint([] {
                StopRule::stable({0.1, 1s, 2s, 5});
              }),
              HasSubstr("min_epochs 5"));
}

}  // namespace
}  // namespace rdmabench::inline v1::measure

#include "rdmabench/analysis/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::analysis {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

std::vector<double> around(double center, std::vector<double> offsets) {
  for (double& value : offsets) value += center;
  return offsets;
}

const std::vector<double> kNoise{-0.02, -0.01, 0, 0.01, 0.02};

// By hand: each mean's variance is 0.00025 / 5, so the error of the difference is 0.01 and the
// degrees of freedom are 8; t(0.95, 8) = 1.859548.
TEST(Judge, IntervalIsWelchs) {
  const Judgement judgement = judge(kNoise, around(0.01, kNoise), {});
  ASSERT_TRUE(judgement.estimate);
  EXPECT_NEAR(judgement.estimate->difference, 0.01, 1e-12);
  EXPECT_NEAR(judgement.estimate->standard_error, 0.01, 1e-12);
  EXPECT_NEAR(judgement.estimate->low, 0.01 - 0.01859548, 1e-7);
  EXPECT_NEAR(judgement.estimate->high, 0.01 + 0.01859548, 1e-7);
  EXPECT_NEAR(judgement.p_nonzero, 0.346594, 1e-5);  // two-sided t of 1 with 8 degrees
  EXPECT_EQ(judgement.estimate->method, "welch_t");
}

// Unequal variances and counts. Reference: R 4.2, t.test(b, a, conf.level = 0.9) by its formulas:
// va/na = 0.0025/5... computed independently below.
TEST(Judge, DegreesOfFreedomAreSatterthwaites) {
  const std::vector<double> a{0, 0.1, -0.1, 0.05, -0.05};
  const std::vector<double> b{0, 0.01, -0.01, 0.01, -0.01, 0.005, -0.005};
  const Judgement judgement = judge(a, b, {});
  const double va = 0.025 / 4 / 5;
  const double vb = 0.00045 / 6 / 7;
  ASSERT_TRUE(judgement.estimate);
  EXPECT_NEAR(judgement.estimate->standard_error, std::sqrt(va + vb), 1e-12);
  // nu = (va+vb)^2 / (va^2/4 + vb^2/6) = 4.068; t(0.95, 4.068) lies between those of 4 and 5.
  const double t = (judgement.estimate->high - judgement.estimate->low) /
                   (2 * judgement.estimate->standard_error);
  EXPECT_GT(t, 2.015);
  EXPECT_LT(t, 2.132);
}

TEST(Judge, SaysTheFourVerdicts) {
  const Settings settings;
  const auto verdict = [&](double difference, double scale) {
    std::vector<double> noise = kNoise;
    for (double& value : noise) value *= scale;
    return judge(noise, around(difference, noise), settings).verdict;
  };
  EXPECT_EQ(verdict(0.001, 1), Verdict::equivalent);
  EXPECT_EQ(verdict(0.02, 0.1), Verdict::immaterial);
  EXPECT_EQ(verdict(0.1, 1), Verdict::different);
  EXPECT_EQ(verdict(-0.1, 1), Verdict::different);
  EXPECT_EQ(verdict(0.03, 4), Verdict::inconclusive);
  EXPECT_EQ(verdict(std::log(1.05), 0.01), Verdict::inconclusive) << "on the margin itself";
}

TEST(Judge, GivesNoVerdictBelowFiveLaunches) {
  const std::vector<double> four{0, 0.0001, -0.0001, 0};
  const Judgement judgement = judge(four, four, {});
  EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
  EXPECT_EQ(judgement.more, 1U);
  EXPECT_THAT(judgement.text, testing::HasSubstr("4 launches"));
  EXPECT_TRUE(judgement.estimate) << "the interval is shown all the same";
}

TEST(Judge, OneLaunchHasNoInterval) {
  const std::vector<double> one{1};
  const Judgement judgement = judge(one, one, {});
  EXPECT_FALSE(judgement.estimate);
  EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
  EXPECT_EQ(judgement.more, 4U);
}

TEST(Judge, ValuesWithoutNoiseAreWhatTheyAre) {
  const std::vector<double> same(5, 3.0);
  EXPECT_EQ(judge(same, same, {}).verdict, Verdict::equivalent);
  EXPECT_EQ(judge(same, around(0.01, same), {}).verdict, Verdict::immaterial);
  EXPECT_EQ(judge(same, around(1, same), {}).verdict, Verdict::different);
}

TEST(Judge, SaysHowManyLaunchesMore) {
  std::vector<double> noise = kNoise;
  for (double& value : noise) value *= 4;
  Judgement judgement = judge(noise, around(0.0, noise), {});
  ASSERT_EQ(judgement.verdict, Verdict::inconclusive);
  plan_further(judgement, {});
  ASSERT_TRUE(judgement.more);
  EXPECT_GT(*judgement.more, 20U);
  EXPECT_LT(*judgement.more, 100U);
}

TEST(Judge, SaysThatTheMarginItselfCannotBeSettled) {
  Judgement judgement = judge(kNoise, around(std::log(1.05), kNoise), {});
  plan_further(judgement, {});
  EXPECT_FALSE(judgement.more);
  EXPECT_EQ(judgement.obstacle, Obstacle::margin);
  EXPECT_THAT(judgement.text, testing::HasSubstr("margin itself"));
}

TEST(Judge, SaysThatLaunchesVaryTooMuch) {
  std::vector<double> noise = kNoise;
  for (double& value : noise) value *= 20;
  Judgement judgement = judge(noise, around(0.0, noise), {});
  plan_further(judgement, {});
  EXPECT_EQ(judgement.obstacle, Obstacle::noise);
  EXPECT_THAT(judgement.text, testing::HasSubstr("the launches vary too much for a margin of 5 %"));
}

TEST(Judge, OnlyWhatIsDifferentHasADirection) {
  const std::vector<double> same(5, 3.0);
  Judgement higher = judge(same, around(1, same), {});
  set_direction(higher, true);
  EXPECT_EQ(name(higher.verdict, higher.direction), "BETTER");
  set_direction(higher, false);
  EXPECT_EQ(name(higher.verdict, higher.direction), "WORSE");
  Judgement within = judge(same, around(0.01, same), {});
  set_direction(within, true);
  EXPECT_EQ(within.direction, Direction::none);
  EXPECT_EQ(name(within.verdict, within.direction), "DIFFERENT BUT IMMATERIAL");
}

// Lan and DeMets 1983, of O'Brien and Fleming: 1.959964 / sqrt(1/4) and / sqrt(1).
TEST(Alpha, OfALookGrowsWithTheShareOfThePlan) {
  EXPECT_NEAR(alpha_of_look(0.05, 0.25), 4.43e-5, 1e-7);
  EXPECT_NEAR(alpha_of_look(0.05, 1), 0.025, 1e-9);
  EXPECT_GT(alpha_of_look(0.05, 5e-6), 0);
}

TEST(Settings, RefuseWhatIsOutOfRange) {
  for (const Settings& wrong : {Settings{.margin = 0}, Settings{.margin = 1}, Settings{.alpha = 0},
                                Settings{.alpha = 0.5}, Settings{.power = 1}}) {
    EXPECT_THROW(wrong.check(), Error);
  }
  EXPECT_NO_THROW(Settings{}.check());
}

// Holm's own example: 0.01, 0.04, 0.03, 0.005 become 0.03, 0.06, 0.06, 0.02.
TEST(Holm, StepsDown) {
  const std::vector<double> p{0.01, 0.04, 0.03, 0.005};
  EXPECT_THAT(holm(p), ElementsAre(DoubleNear(0.03, 1e-12), DoubleNear(0.06, 1e-12),
                                   DoubleNear(0.06, 1e-12), DoubleNear(0.02, 1e-12)));
  EXPECT_THAT(holm(std::vector<double>{}), ElementsAre());
  EXPECT_THAT(holm(std::vector<double>{0.9, 0.8}), ElementsAre(1, 1));
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis

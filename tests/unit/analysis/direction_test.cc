// Which side is better, what fails, and what is said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../complaint.h"
#include "documents.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::analysis {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Direction, ADirectionFollowsFromTheMetric) {
  const Sides sides = in_turn(6, 1e11, 3e11);
  const Comparison faster = compare(sides.a, sides.b, {});
  EXPECT_EQ(faster.verdict, Verdict::different);
  EXPECT_EQ(faster.direction, Direction::better);
  EXPECT_EQ(faster.families.at(0).cells.at(0).judgement.direction, Direction::better);
  EXPECT_FALSE(faster.failed()) << "an improvement is no failure";
  EXPECT_THAT(to_table(faster), testing::StartsWith("B is BETTER than A: 1 of 1 quantity"));
  const Comparison slower = compare(sides.b, sides.a, {});
  EXPECT_EQ(slower.direction, Direction::worse);
  EXPECT_TRUE(slower.failed());
  Sides latency;
  for (int i = 0; i < 5; ++i) {
    latency.a.push_back(launch_of(latency_report({{8, 1200.0 + i}}, 2 * i), "a"));
    latency.b.push_back(launch_of(latency_report({{8, 1000.0 + i}}, 2 * i + 1), "b"));
  }
  EXPECT_EQ(compare(latency.a, latency.b, {}).direction, Direction::better);
}

/// Two sizes: the first one's rate of B is `first` times that of A.
Sides two_sizes(double first, double second) {
  Sides sides;
  for (int i = 0; i < 6; ++i) {
    const double noise = 1 + 0.001 * i;
    sides.a.push_back(
        launch_of(bandwidth_report({{64, 1e9 * noise}, {4096, 1e10 * noise}}, 2 * i), "a"));
    sides.b.push_back(launch_of(
        bandwidth_report({{64, 1e9 * first * noise}, {4096, 1e10 * second * noise}}, 2 * i + 1),
        "b"));
  }
  return sides;
}

TEST(Direction, BetterAndWorseIsMixedAndFails) {
  const Sides sides = two_sizes(1.4, 0.7);
  const Comparison comparison = compare(sides.a, sides.b, {.a_name = "ib", .b_name = "roce"});
  EXPECT_EQ(comparison.direction, Direction::mixed);
  EXPECT_EQ(comparison.families[0].direction, Direction::mixed);
  EXPECT_TRUE(comparison.failed());
  const std::string text = summary(comparison);
  EXPECT_THAT(text, HasSubstr("MIXED"));
  EXPECT_THAT(text, HasSubstr("1 of 2 quantities are better"));
  EXPECT_THAT(text, HasSubstr("write bandwidth of 4K -30 %"));
}

TEST(Direction, FailsOnWhatItIsAskedTo) {
  const auto fails = [](const Sides& sides, std::vector<FailOn> on) {
    return compare(sides.a, sides.b, {.fail_on = std::move(on)}).failed();
  };
  const Sides better = in_turn(6, 1e11, 2e11);
  EXPECT_FALSE(fails(better, {FailOn::worse, FailOn::inconclusive}));
  EXPECT_TRUE(fails(better, {FailOn::different}));
  const Sides few = in_turn(4, 1e11, 0.5e11);
  EXPECT_FALSE(fails(few, {FailOn::worse, FailOn::different}));
  EXPECT_TRUE(fails(few, {FailOn::inconclusive}));
  EXPECT_FALSE(fails(in_turn(6, 1e11, 0.5e11), {}));
  EXPECT_EQ(parse_fail_on("confounded"), FailOn::confounded);
  EXPECT_THAT(complaint([&] { parse_fail_on("slower"); }).what(),
              HasSubstr("worse, different, inconclusive, confounded, incomplete"));
}

TEST(Direction, SidesAreCalledByTheirNames) {
  const Sides sides = in_turn(6, 1e11, 0.9e11);
  const Comparison comparison = compare(sides.a, sides.b, {.a_name = "ib", .b_name = "roce"});
  const std::string table = to_table(comparison);
  EXPECT_THAT(table, testing::StartsWith("roce is WORSE than ib: "));
  EXPECT_THAT(table, HasSubstr("ib[Gb/s]  roce[Gb/s]"));
  EXPECT_LT(table.find("WORSE\n"), table.find("The launches of both")) << "the figures first";
  const auto json = nlohmann::json::parse(to_json(comparison));
  EXPECT_EQ(json["a"]["name"], "ib");
  EXPECT_EQ(json["b"]["name"], "roce");
  EXPECT_EQ(json["verdict"], "DIFFERENT") << "as readers of this schema know it";
  EXPECT_EQ(json["direction"], "worse");
  EXPECT_EQ(json["failed"], true);
  EXPECT_EQ(json["summary"], summary(comparison));
  EXPECT_THROW(compare(sides.a, sides.b, {.a_name = "x", .b_name = "x"}), Error);
  EXPECT_THROW(compare(sides.a, sides.b, {.a_name = "x", .b_name = ""}), Error);
}

TEST(Direction, NoiseIsSaidWithItsRemedyInPlaceOfACount) {
  Sides sides = in_turn(6, 1e11, 1e11, 0.8);
  for (Launch& launch : sides.b) {
    launch.suspicions = {"preemption"};
    launch.remedies = {{"preemption", "pin to a free CPU"}};
  }
  const Comparison noisy = compare(sides.a, sides.b, {});
  ASSERT_EQ(noisy.verdict, Verdict::inconclusive);
  EXPECT_EQ(noisy.obstacle, Obstacle::noise);
  EXPECT_GT(*noisy.more, kManyLaunches);
  const std::string text = summary(noisy);
  EXPECT_THAT(text, testing::ContainsRegex("vary by [0-9]+ %: remove the noise"));
  EXPECT_THAT(text, has_all("6 launches", "preemption", "free CPU"));
  EXPECT_THAT(to_table(noisy), Not(HasSubstr(" more of each side")));
  EXPECT_THAT(regression_line(noisy), HasSubstr("remove the noise first"));
  const Sides calm = in_turn(5, 1e11, 1e11, 0.12);
  const Comparison few = compare(calm.a, calm.b, {});
  ASSERT_EQ(few.verdict, Verdict::inconclusive);
  EXPECT_EQ(few.obstacle, Obstacle::none);
  EXPECT_THAT(summary(few), HasSubstr(std::to_string(*few.more) + " launches more of each side"));
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis

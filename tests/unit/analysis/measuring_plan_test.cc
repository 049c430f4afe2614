#include "analysis/measuring_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "documents.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ProjectionOptions training() {
  ProjectionOptions options;
  options.job.parameters = 1e9;
  options.values = {8, 64};
  options.origins["rails"] = "given";
  return options;
}

/// Launches of what a plan measures.
std::vector<Launch> measured(const MeasuringPlan& plan, int launches, double spread) {
  std::vector<Launch> list;
  for (int i = 0; i < launches; ++i) {
    const double factor = 1 + spread * i;
    std::map<std::uint64_t, double> latency;
    std::map<std::uint64_t, double> bandwidth;
    for (const std::uint64_t size : plan.latency_sizes) {
      latency[size] = factor * (1000 + static_cast<double>(size) / 10);
    }
    for (const std::uint64_t size : plan.bandwidth_sizes) bandwidth[size] = 8e10 / factor;
    list.push_back(launch_of(latency_report(latency, 2 * i, plan.samples)));
    list.push_back(launch_of(bandwidth_report(bandwidth, 2 * i + 1)));
  }
  return list;
}

TEST(MeasuringPlan, MeasuresWhatTheProjectionNeeds) {
  // 2e9 bytes in 77 buckets of 25974026: messages of 405844 to 3246753 bytes.
  const MeasuringPlan plan = plan_measuring(training());
  EXPECT_THAT(plan.bandwidth_sizes, ElementsAre(1U << 18, 1U << 19, 1U << 20, 1U << 21, 1U << 22));
  EXPECT_THAT(plan.latency_sizes,
              ElementsAre(8U, 1U << 18, 1U << 19, 1U << 20, 1U << 21, 1U << 22));
  EXPECT_EQ(plan.samples, 1000U) << "the slowest of 64 is the 98.9th percentile";
  EXPECT_EQ(plan.launches, kMinLaunches);
  const auto launches = measured(plan, 5, 0.001);
  const LinkSamples samples = collect_link(launches, "write");
  EXPECT_THAT(missing_for(training(), TimeSource::both, "A", samples), testing::IsEmpty());
  EXPECT_NO_THROW(project(samples, std::nullopt, training()));
}

TEST(MeasuringPlan, CoversOtherNumbersOfRailsWhereTheyAreADefault) {
  ProjectionOptions options = training();
  options.origins.clear();
  const MeasuringPlan plan = plan_measuring(options);
  EXPECT_EQ(plan.bandwidth_sizes.front(), 32768U) << "a message of 8 rails has 50730 bytes";
  EXPECT_EQ(plan.bandwidth_sizes.back(), 1U << 22);
  EXPECT_EQ(plan.samples, 10000U) << "the slowest of 512 is the 99.86th percentile";
  options.values = {8, 512};
  EXPECT_EQ(plan_measuring(options).samples, 10000U) << "8 rails would take 100000 samples";
}

TEST(MeasuringPlan, FollowsTheKindOfJob) {
  ProjectionOptions options = training();
  options.job.stragglers = Stragglers::none;
  EXPECT_THAT(plan_measuring(options).latency_sizes, ElementsAre(8U));
  options.source = TimeSource::bandwidth;
  EXPECT_THAT(plan_measuring(options).latency_sizes, testing::IsEmpty());
  options.source = TimeSource::latency;
  EXPECT_THAT(plan_measuring(options).bandwidth_sizes, testing::IsEmpty());
  options = training();
  options.job.algorithm = Algorithm::tree;
  EXPECT_EQ(plan_measuring(options).bandwidth_sizes.back(), 1U << 25);
  options = training();
  options.values = {8, 8192};
  EXPECT_THROW(plan_measuring(options), Error) << "no document has that percentile";
}

TEST(MeasuringPlan, CountsLaunchesByThePilot) {
  MeasuringPlan calm = plan_measuring(training());
  EXPECT_LT(plan_launches(calm, measured(calm, 5, 0.001), training()), 0.01);
  EXPECT_EQ(calm.launches, kMinLaunches);
  MeasuringPlan rough = plan_measuring(training());
  EXPECT_GT(plan_launches(rough, measured(rough, 5, 0.04), training()), 0.01);
  EXPECT_GT(rough.launches, kMinLaunches);
  EXPECT_LT(rough.launches, kMostPlanned);
  MeasuringPlan noisy = plan_measuring(training());
  plan_launches(noisy, measured(noisy, 5, 1), training());
  EXPECT_EQ(noisy.launches, kMostPlanned);
  EXPECT_THROW(plan_launches(calm, measured(calm, 1, 0), training()), Error);
}

TEST(MeasuringPlan, WritesAScript) {
  MeasuringPlan plan = plan_measuring(training());
  plan.launches = 7;
  const std::string script = to_script(plan, {.a = "My\nnet",
                                              .b = "Ethernet",
                                              .folder_a = "my-net",
                                              .folder_b = "ethernet",
                                              .plan_command = "rdmabench decide --plan",
                                              .decide_command = "\"$RDMABENCH\" decide"});
  EXPECT_TRUE(script.starts_with("#!/bin/sh\n# Measures A = My net and B = Ethernet"));
  EXPECT_THAT(script, HasSubstr("lat \"$2\" --op write --size 8,256K,512K,1M,2M,4M --iterations "
                                "1000 $5\n"));
  EXPECT_THAT(script, HasSubstr("bw \"$2\" --op write --size 256K,512K,1M,2M,4M --duration"));
  EXPECT_THAT(script, HasSubstr("[ \"$launch\" -le 7 ]"));
  EXPECT_TRUE(script.ends_with("\n\"$RDMABENCH\" decide\n"));
  // By standard output: the client may run on a machine that has no folder in common.
  EXPECT_THAT(script, testing::Not(HasSubstr("--output \"$file")));
  const std::string duration = duration_text(plan);
  EXPECT_THAT(script, HasSubstr("# It measures for " + duration + ".\n"));
  EXPECT_THAT(
      duration,
      testing::MatchesRegex(
          "about [0-9]+ min over links of 25 Gb/s; REST=TIME adds a pause between its 7 rounds"));
  plan.launches = 30;
  plan.samples = 1'000'000;
  EXPECT_THAT(duration_text(plan), testing::MatchesRegex("about [0-9.]+ h over .*"));
  const std::string file = testing::TempDir() + "measure.sh";
  std::ofstream(file) << script;
  EXPECT_EQ(std::system(("sh -n " + file).c_str()), 0);
  std::remove(file.c_str());
}

TEST(MeasuringPlan, MakesFoldersOfNames) {
  EXPECT_EQ(folder_of("InfiniBand"), "infiniband");
  EXPECT_EQ(folder_of("100 GbE (RoCE)"), "100-gbe-roce");
  EXPECT_EQ(folder_of("../../etc"), "etc");
  EXPECT_EQ(folder_of("노드"), "");
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis

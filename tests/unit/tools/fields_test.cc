#include "flags/fields.h"

#include <gtest/gtest.h>

namespace rdmabench::inline v1::tools {
namespace {

class WithFlags : public testing::Test {
 protected:
  void SetUp() override {
    know_flags({"--cpu", "--depth", "--duration", "--latency-size", "--rails", "--stride"});
  }
  void TearDown() override { know_flags({}); }
};

TEST_F(WithFlags, NamesTheFlagOfEachField) {
  EXPECT_EQ(with_flags("`queue_pairs` 4097. Lower `queue_pairs` or `depth`."),
            "--qps 4097. Lower --qps or --depth.");
}

TEST_F(WithFlags, KnowsTheFieldsOfAFabricsPlan) {
  EXPECT_EQ(with_flags("`duration_s` of 900 s. Give `bandwidth_sizes` or `latency_sizes`."),
            "--duration of 900 s. Give --size or --latency-size.");
  EXPECT_EQ(with_flags("Name the devices by `rails`."), "Name the devices by --rails.");
}

TEST_F(WithFlags, PrefersTheFlagsOfTheProgram) {
  const FieldFlag kOwn[] = {{"depth", "-t"}};
  EXPECT_EQ(with_flags("`depth` and `stride`", kOwn), "-t and --stride");
}

TEST_F(WithFlags, LeavesOtherTextAsItIs) {
  EXPECT_EQ(with_flags(""), "");
  EXPECT_EQ(with_flags("`nothing` known, and `depth"), "`nothing` known, and `depth");
}

TEST_F(WithFlags, AreNamedInSuspicions) {
  report::Report report;
  report.suspicions.push_back(
      {.code = "migration", .text = "moved; pin with `cpus`.", .remedy = "pin with `cpus`"});
  name_flags(report);
  EXPECT_EQ(report.suspicions[0].text, "moved; pin with --cpu.");
  EXPECT_EQ(report.suspicions[0].remedy, "pin with --cpu");
}

}  // namespace
}  // namespace rdmabench::inline v1::tools

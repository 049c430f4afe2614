#include "ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools {
namespace {

using ::testing::ExitedWithCode;

/// What a system call does whose driver never answers.
[[noreturn]] void never_return() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

TEST(CloseLimit, EndsTheProcessThatCannotCloseWithItsCodeAndAWord) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const CloseLimit limit(std::chrono::milliseconds(10), 3);
        never_return();
      },
      ExitedWithCode(3), "results are written.*not closed after 0.01 s");
}

TEST(CloseLimit, LeavesAloneWhoClosesInTime) {
  for (int i = 0; i < 100; ++i) const CloseLimit limit(std::chrono::hours(1), 3);
}

run::Config quick() {
  run::Config config;
  config.backend = "loop";
  config.stop = measure::StopRule::iterations(10);
  config.traffic.watch = false;
  return config;
}

TEST(RunAndWrite, GivesTheCodeOfTheWriter) {
  int reports = 0;
  const Write write = [&](const report::Report& report) {
    EXPECT_EQ(report.error, std::nullopt);
    ++reports;
    return 5;
  };
  EXPECT_EQ(run_and_write(quick(), "", 0, {}, write), 5);
  EXPECT_EQ(reports, 1);
}

TEST(RunAndWrite, PrintsAllRowsButTheLastAsTheyAreFinished) {
  run::Config config = quick();
  config.sizes = {8, 64, 512};
  const auto rows = [](const report::Report& report) { return report.latency().size(); };
  std::vector<std::size_t> printed;
  const More more = [&](const report::Report& report) {
    printed.push_back(rows(report));
    return std::string();
  };
  const Write write = [&](const report::Report& report) { return static_cast<int>(rows(report)); };
  EXPECT_EQ(run_and_write(config, "", 0, {}, write, more), 3);
  EXPECT_EQ(printed, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(RunAndWrite, EndsARunWhoseRowsCannotBeWritten) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    run::Config config = quick();
    config.sizes = {8, 64, 512};
    const More more = [](const report::Report& report) -> std::string {
      if (report.latency().size() == 1) throw Error(Fault::failed, "no paper");
      return "";
    };
    const Write write = [](const report::Report& report) {
      EXPECT_EQ(report.latency().size(), 1U);
      EXPECT_EQ(report.error, "standard output could not be written");
      EXPECT_TRUE(ended_unwritten(report));
      return 0;
    };
    return run_and_write(config, "", 0, {}, write, more);
  };
  EXPECT_EXIT(_exit(run()), ExitedWithCode(1), "^rdmabench: no paper\n$");
}

TEST(RunAndWrite, SaysAtOnceWhatCouldNotBeWritten) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    const Write write = [](const report::Report&) -> int {
      throw Error(Fault::unavailable, "no paper");
    };
    return run_and_write(quick(), "", 0, {}, write);
  };
  EXPECT_EXIT(_exit(run()), ExitedWithCode(3), "rdmabench: no paper");
}

}  // namespace
}  // namespace rdmabench::inline v1::tools

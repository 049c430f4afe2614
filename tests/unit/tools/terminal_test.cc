#include "terminal.h"

#include <gtest/gtest.h>

#include "../setting.h"
#include "control/launch.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::tools {
namespace {

TEST(TimeLeft, FollowsFromWhatWasTakenSoFar) {
  using std::chrono::seconds;
  EXPECT_EQ(time_left(0.25, seconds(10)), "30 s left");
  EXPECT_EQ(time_left(1, seconds(10)), "0 s left");
  EXPECT_EQ(time_left(0.1, seconds(60)), "9 min left");
  EXPECT_EQ(time_left(0, seconds(10)), "") << "nothing is known yet";
  EXPECT_EQ(time_left(0.001, seconds(1)), "") << "a guess";
}

TEST(TimeLeft, IsNeverNegative) {
  EXPECT_EQ(time_text(-5), "0 s left");
}

TEST(IsFirstRank, AsksEveryLauncher) {
  for (const control::Launcher& launcher : control::launchers()) {
    ASSERT_EQ(setenv(launcher.rank, "1", 1), 0);
    EXPECT_FALSE(is_first_rank()) << launcher.name;
    ASSERT_EQ(setenv(launcher.rank, "0", 1), 0);
    EXPECT_TRUE(is_first_rank()) << launcher.name;
    unsetenv(launcher.rank);
  }
}

TEST(Rate, IsShortEnoughToRead) {
  EXPECT_EQ(rate_text(812), "812 msg/s");
  EXPECT_EQ(rate_text(31234), "31.2 kmsg/s");
  EXPECT_EQ(rate_text(2.49627e+06), "2.5 Mmsg/s");
}

TEST(ForReading, LeavesAloneWhatGoesToAFile) {
  const std::string text = std::string(200, 'x') + " y\n";
  EXPECT_EQ(for_reading(text, "file"), text);
}

TEST(OutputWidth, IsThatOfTheEnvironment) {
  const Setting columns("COLUMNS", "132");
  EXPECT_EQ(output_width(), 132);
  EXPECT_EQ(table_width(true), report::kAnyWidth);
}

TEST(TableWidth, IsUnlimitedWhereEveryColumnIsAskedFor) {
  EXPECT_EQ(table_width(true), report::kAnyWidth);
  EXPECT_LT(table_width(false), report::kAnyWidth);
}

}  // namespace
}  // namespace rdmabench::inline v1::tools

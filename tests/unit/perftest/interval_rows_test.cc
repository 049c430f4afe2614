#include "perftest/interval_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmabench::inline v1::tools::perftest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(IntervalRows, ARowHoldsTheEpochsOfItsInterval) {
  const IntervalRows::Time start{};
  IntervalRows rows(seconds(1), 1, {.gigabits = true}, start);
  EXPECT_EQ(rows.add(125000, 100, 100, start + milliseconds(300)), std::nullopt);
  // 100 messages in a second and 300 in one: 200 a second, the fastest epoch 300.
  EXPECT_EQ(rows.add(125000, 400, 300, start + seconds(1)),
            " 125000     400              0.30               0.20   \t\t   0.000200\n");
  // The next interval begins with nothing.
  EXPECT_EQ(rows.add(125000, 500, 200, start + milliseconds(1500)), std::nullopt);
  EXPECT_THAT(rows.add(125000, 600, 200, start + milliseconds(2100)).value(),
              testing::HasSubstr("200              0.20               0.20"));
}

TEST(IntervalRows, BothWaysCountTwice) {
  const IntervalRows::Time start{};
  IntervalRows rows(seconds(1), 2, {.gigabits = true}, start);
  EXPECT_THAT(rows.add(125000, 400, 200, start + seconds(1)).value(),
              testing::HasSubstr("400              0.40               0.40"));
}

TEST(IntervalRows, AnIntervalWithoutAnEpochHasNoRow) {
  const IntervalRows::Time start{};
  IntervalRows rows(seconds(1), 1, {}, start);
  EXPECT_NE(rows.add(8, 100, 100, start + seconds(5)), std::nullopt);
  EXPECT_EQ(rows.add(8, 200, 100, start + milliseconds(5500)), std::nullopt)
      << "the missed intervals are not made up for";
  EXPECT_EQ(rows.add(8, 200, 0, start + milliseconds(5600)), std::nullopt) << "no rate, no row";
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::perftest

#include "flags/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools {
namespace {

using testing::ElementsAre;

TEST(ParsePercent, WantsItsSign) {
  EXPECT_DOUBLE_EQ(parse_percent("5%"), 0.05);
  EXPECT_DOUBLE_EQ(parse_percent("0.5%"), 0.005);
  for (const char* wrong : {"5", "0.05", "", "%", "5 %", "-5%", "5%%", "nan%", "inf%"}) {
    EXPECT_THROW(parse_percent(wrong), Error) << wrong;
  }
}

TEST(ParseQuantity, TakesPowersOfAThousand) {
  EXPECT_DOUBLE_EQ(parse_quantity("4096"), 4096);
  EXPECT_DOUBLE_EQ(parse_quantity("4k"), 4000);
  EXPECT_DOUBLE_EQ(parse_quantity("8.03B"), 8.03e9);
  EXPECT_DOUBLE_EQ(parse_quantity("989T"), 989e12);
  EXPECT_DOUBLE_EQ(parse_quantity("1e9"), 1e9);
  for (const char* wrong : {"", "k", "4Q", "4kB", "-1", "nan", "inf", "1e400"}) {
    EXPECT_THROW(parse_quantity(wrong), Error) << wrong;
  }
}

TEST(ParseQuantities, RiseInLists) {
  EXPECT_THAT(parse_quantities("8,16,64"), ElementsAre(8, 16, 64));
  EXPECT_THAT(parse_quantities("2:16"), ElementsAre(2, 4, 8, 16));
  EXPECT_THAT(parse_quantities("3:10"), ElementsAre(3, 6, 10));
  EXPECT_THAT(parse_quantities("7"), ElementsAre(7));
  for (const char* wrong : {"", "8,", ",8", "8,4", "8,8", "16:2", "0:8", "2:", ":8"}) {
    EXPECT_THROW(parse_quantities(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::tools

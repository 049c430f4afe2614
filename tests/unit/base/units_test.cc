#include "rdmabench/base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(ParseSize, TakesPowersOf1024) {
  EXPECT_EQ(parse_size("8"), 8U);
  EXPECT_EQ(parse_size("64K"), 65536U);
  EXPECT_EQ(parse_size("64k"), 65536U);
  EXPECT_EQ(parse_size("4KiB"), 4096U);
  EXPECT_EQ(parse_size("1G"), 1073741824U);
}

TEST(ParseSize, NamesTheBadTextAndARightOne) {
  EXPECT_THAT(usage_complaint([] { parse_size("3Q"); }), has_all("'3Q'", "64K"));
  EXPECT_THAT(usage_complaint([] { parse_size(""); }), HasSubstr("''"));
  EXPECT_THAT(usage_complaint([] { parse_size("-1"); }), HasSubstr("'-1'"));
  EXPECT_THAT(usage_complaint([] { parse_size("1.5K"); }), HasSubstr("'1.5K'"));
  EXPECT_THAT(usage_complaint([] { parse_size("99999999999G"); }), HasSubstr("too large"));
  EXPECT_THAT(usage_complaint([] { parse_size("99999999999999999999999"); }),
              HasSubstr("too large"));
}

TEST(ParseSizeList, TakesListsAndDoublings) {
  EXPECT_THAT(parse_size_list("8,64,4K"), ElementsAre(8, 64, 4096));
  EXPECT_THAT(parse_size_list("1:8"), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(parse_size_list("3:20"), ElementsAre(3, 6, 12, 20));
  EXPECT_THAT(parse_size_list("8:8,1K"), ElementsAre(8, 1024));
  EXPECT_THAT(parse_size_list("9223372036854775808:18446744073709551615").size(), 2U);
}

TEST(ParseSizeList, RefusesWhatNobodyCanMean) {
  EXPECT_THAT(usage_complaint([] { parse_size_list("8M:1"); }), HasSubstr("'1:8M'"));
  EXPECT_THAT(usage_complaint([] { parse_size_list("0"); }), HasSubstr("at least 1"));
  EXPECT_THAT(usage_complaint([] { parse_size_list("8,,16"); }), HasSubstr("''"));
  EXPECT_THAT(usage_complaint([] { parse_size_list("8,"); }), HasSubstr("''"));
}

TEST(ParseCount, TakesPowersOf1000) {
  EXPECT_EQ(parse_count("5k"), 5000U);
  EXPECT_EQ(parse_count("1.5k"), 1500U);
  EXPECT_THAT(usage_complaint([] { parse_count("1e6"); }), HasSubstr("'1e6'"));
  EXPECT_THAT(usage_complaint([] { parse_count("1.0005k"); }), HasSubstr("too many decimals"));
}

TEST(ParseDuration, TakesUnitsAndDefaultsToSeconds) {
  EXPECT_EQ(parse_duration("10"), 10s);
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("2m"), 2min);
  EXPECT_EQ(parse_duration("0.1s"), 100ms);
  EXPECT_EQ(parse_duration("0.25"), 250ms);
  EXPECT_EQ(parse_duration("1.50m"), 90s);
  EXPECT_THAT(usage_complaint([] { parse_duration("0.s"); }), HasSubstr("unknown unit '.S'"));
  EXPECT_THAT(usage_complaint([] { parse_duration("0.1parsecs"); }), HasSubstr("unknown unit"));
  EXPECT_THAT(usage_complaint([] { parse_duration("0.5ns"); }), HasSubstr("too many decimals"));
  EXPECT_THAT(usage_complaint([] { parse_duration("9223372036.9"); }), HasSubstr("too large"));
  EXPECT_THAT(usage_complaint([] { parse_duration("5 parsecs"); }), HasSubstr("10s, 250ms"));
  EXPECT_THAT(usage_complaint([] { parse_duration("9999999999h"); }), HasSubstr("too large"));
}

TEST(FormatSize, IsTakenBackByParseSize) {
  for (const std::uint64_t size :
       {0ULL, 1ULL, 1000ULL, 1024ULL, 65536ULL, 3145728ULL, 1ULL << 40}) {
    EXPECT_EQ(parse_size(format_size(size)), size) << format_size(size);
  }
  EXPECT_EQ(format_size(65536), "64K");
}

}  // namespace
}  // namespace rdmabench::inline v1

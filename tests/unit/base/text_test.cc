#include "base/text.h"

#include <gtest/gtest.h>

#include "base/number.h"

namespace rdmabench::inline v1 {
namespace {

using Parts = std::vector<std::string_view>;

TEST(Text, TrimmedHasNoBlanksAtItsEnds) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
}

TEST(Text, EverySeparatorBeginsAPart) {
  EXPECT_EQ(split("a,,b,", ','), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), Parts{""});
}

TEST(Text, ALineEndBeginsNoLine) {
  EXPECT_EQ(lines_of("a\n\nb\n"), (Parts{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\nb"), (Parts{"a", "b"}));
  EXPECT_EQ(lines_of(""), Parts{});
}

TEST(Text, WordsHaveNoBlanks) {
  EXPECT_EQ(words_of("\t one  two\r\n"), (Parts{"one", "two"}));
  EXPECT_EQ(words_of(" "), Parts{});
}

TEST(Text, AValueStandsBehindItsKey) {
  EXPECT_EQ(value_after("models: 3\nmodel name\t: EPYC 9 \nmodel name\t: b", "model name"),
            "EPYC 9");
  EXPECT_EQ(value_after("NAME=x\nPRETTY_NAME=\"Debian\"", "PRETTY_NAME"), "\"Debian\"");
  EXPECT_EQ(value_after("model names: 3", "model name"), "");
  EXPECT_EQ(chosen_word("always [madvise] never"), "madvise");
  EXPECT_EQ(chosen_word("] ["), "");
}

TEST(Text, ATimeIsInUtc) {
  EXPECT_EQ(utc_text(951782400 + 3661, "%Y-%m-%dT%H:%M:%SZ"), "2000-02-29T01:01:01Z");
}

TEST(Number, AListCountsWhereAllOfItIsOne) {
  EXPECT_EQ(list_count("0-3,8"), 5);
  for (const char* other : {"", "0-3,x", "3-0", "0-"}) EXPECT_EQ(list_count(other), 0) << other;
}

}  // namespace
}  // namespace rdmabench::inline v1

#include "base/text.h"

#include <gtest/gtest.h>

namespace rdmabench {
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

}  // namespace
}  // namespace rdmabench

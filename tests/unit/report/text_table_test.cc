#include "rdmabench/report/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmabench::report {
namespace {

TEST(TextTable, AlignsTextLeftAndNumbersRight) {
  TextTable table({{"name", TextTable::Align::left}, {"MTU"}, {"state", TextTable::Align::left}});
  table.add_row({"rxe0:1", "1024", "active"});
  table.add_row({"lo", "65536", ""});
  EXPECT_EQ(table.text(),
            "name      MTU  state\n"
            "rxe0:1   1024  active\n"
            "lo      65536\n");
}

TEST(TextTable, TakesRowsThatAreTooShortOrTooLong) {
  TextTable table({{"a"}, {"b"}});
  table.add_row({"1"});
  table.add_row({"1", "2", "3"});
  EXPECT_EQ(table.text(), "a  b\n1\n1  2\n");
}

TEST(TextTable, KeepsACellOnItsLine) {
  TextTable table({{"a"}});
  table.add_row({"x\ny"});
  EXPECT_EQ(table.text(), "  a\nx?y\n");
}

TextTable wide_table() {
  TextTable table({{"size"},
                   {.heading = "type", .align = TextTable::Align::left, .dispensable = 1},
                   {.heading = "mean[us]", .dispensable = 2},
                   {.heading = "stddev[us]", .dispensable = 3},
                   {"p50[us]"}});
  table.add_row({"8", "float", "1.5", "0.1", "1.4"});
  table.add_row({"64K", "float", "20.5", "4.0", "20.0"});
  return table;
}

TEST(TextTable, SaysOnceWhatEveryRowSaysBeforeItLeavesAnythingOut) {
  EXPECT_EQ(wide_table().text(44),
            "size  type   mean[us]  stddev[us]  p50[us]\n"
            "   8  float       1.5         0.1      1.4\n"
            " 64K  float      20.5         4.0     20.0\n");
  EXPECT_EQ(wide_table().text(40),
            "in every row: type float\n"
            "size  mean[us]  stddev[us]  p50[us]\n"
            "   8       1.5         0.1      1.4\n"
            " 64K      20.5         4.0     20.0\n");
}

TEST(TextTable, BreaksALineAboveItAsWell) {
  std::vector<TextTable::Column> columns{{"size"}};
  std::vector<std::string> cells{"8"};
  for (int i = 0; i < 12; ++i) {
    columns.push_back({.heading = "column[us]", .dispensable = 1});
    cells.emplace_back("7 %");
  }
  TextTable table(columns);
  table.add_row(cells);
  const std::string text = table.text(kUsualWidth);
  EXPECT_THAT(text, ::testing::HasSubstr("in every row: column[us] 7 %, "));
  EXPECT_THAT(text, ::testing::HasSubstr("\n  column[us] 7 %"));
}

TEST(TextTable, NamesWhatItLeavesOut) {
  EXPECT_EQ(wide_table().text(24),
            "in every row: type float\n"
            "size  mean[us]  p50[us]\n"
            "   8       1.5      1.4\n"
            " 64K      20.5     20.0\n"
            "left out: stddev[us]; --wide shows all\n");
  EXPECT_EQ(wide_table().text(5),
            "in every row: type float\n"
            "size  p50[us]\n"
            "   8      1.4\n"
            " 64K     20.0\n"
            "left out: stddev[us], mean[us]; --wide shows all\n");
}

TEST(TextTable, BreaksTheWordsOfALastColumn) {
  TextTable table({{"name", TextTable::Align::left}, {"details", TextTable::Align::left}});
  table.add_row({"lo", "fabric=127.0.0.1/32 address=127.0.0.1"});
  EXPECT_EQ(table.text(28),
            "name  details\n"
            "lo    fabric=127.0.0.1/32\n"
            "      address=127.0.0.1\n");
  EXPECT_EQ(table.text(), "name  details\nlo    fabric=127.0.0.1/32 address=127.0.0.1\n");
}

TEST(Printable, ReplacesControlCharactersAlone) {
  EXPECT_EQ(printable("a\tb\x7f\x1b[0m"), "a?b??[0m");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "??2J");
  EXPECT_EQ(printable("M\xc3\xbcnchen"), "M\xc3\xbcnchen");
}

}  // namespace
}  // namespace rdmabench::report

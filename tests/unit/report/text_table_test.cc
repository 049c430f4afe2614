#include "results/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "results/number_column.h"

namespace rdmabench::inline v1::report {
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

TEST(TextTable, CountsColumnsOfATerminal) {
  TextTable table({{"name", TextTable::Align::left}, {"a"}});
  table.add_row({"노드 8개", "1"});
  table.add_row({"e\xCC\x81", "10"});
  EXPECT_EQ(table.text(), "name       a\n노드 8개   1\ne\xCC\x81         10\n");
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("노드 8개"), 8U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);
}

TEST(TextTable, KeepsItsColumnsForRowsThatComeLater) {
  TextTable table({{.heading = "size", .widest = 6}, {"p50[us]"}});
  table.add_row({"8", "1.5"});
  EXPECT_EQ(table.more(), "  size  p50[us]\n     8      1.5\n");
  EXPECT_EQ(table.more(), "");
  table.add_row({"64", ""});
  table.add_row({"123456", "20000.5"});
  EXPECT_EQ(table.more(), "    64\n123456  20000.5\n");
  table.add_row({"12345678", "1"});
  EXPECT_EQ(table.more(), "12345678        1\n") << "wider than was said: the row gives way";
  EXPECT_EQ(lines_of(table.text()).size(), 5U) << "the whole is still there";
}

TEST(TextTable, LeavesOutByWhatMayCome) {
  TextTable table(
      {{.heading = "a", .widest = 10}, {.heading = "b", .dispensable = 1, .widest = 5}});
  table.add_row({"1", "2"});
  EXPECT_EQ(table.more(16), "left out: b; --wide shows all\n         a\n         1\n");
}

TEST(TextTable, TellsWhatEveryRowSays) {
  const auto table = [] {
    return TextTable({{.heading = "a", .widest = 10},
                      {.heading = "b", .dispensable = 1, .alike = true},
                      {.heading = "c", .dispensable = 2},
                      {.heading = "d", .dispensable = 3}});
  };
  TextTable narrow = table();
  narrow.add_row({"1", "x", "y", "z"});
  EXPECT_EQ(narrow.more(10),
            "in every row: b x\nleft out: d, c; --wide shows all\n         a\n         1\n")
      << "of b alone it is known that the next row has the same";
  narrow.add_row({"2", "x", "y", "-"});
  EXPECT_EQ(narrow.more(10), "         2\n");
  EXPECT_EQ(narrow.same_in_every_row(), "in every row: c y\n");
  TextTable wide = table();
  wide.add_row({"1", "", "y", "z"});
  EXPECT_EQ(wide.more(), "         a  c  d\n         1  y  z\n") << "b will stay empty";
  EXPECT_EQ(wide.same_in_every_row(), "");
}

TEST(Numbers, HaveThreeDigitsThatCount) {
  EXPECT_EQ(column_text(0.0267123), "0.0267");
  EXPECT_EQ(column_text(0.0267123, 3), "0.027");
  EXPECT_EQ(column_text(1), "1.00");
  EXPECT_EQ(column_text(9.996), "10.0");
  EXPECT_EQ(column_text(-99.96), "-100");
  EXPECT_EQ(column_text(85717.15), "85717");
  EXPECT_EQ(column_text(0), "0.00");
  EXPECT_EQ(column_text(NAN), "-");
  EXPECT_EQ(digits_text(1.5), "1.5");
  EXPECT_EQ(digits_text(0.5004), "0.5");
  EXPECT_EQ(digits_text(100), "100");
  EXPECT_EQ(digits_text(4096), "4096");
  EXPECT_EQ(digits_text(1234.5, 4), "1234");
  EXPECT_EQ(rate_text(394213e6), "394 Gb/s");
  EXPECT_EQ(rate_text(394213e6, 4), "394.2 Gb/s");
  EXPECT_EQ(time_text(74380), "74.4 us");
  EXPECT_EQ(percent_text(0.9), "90 %");
}

TEST(Filled, BreaksBetweenWordsButNotBeforeAPercentSign) {
  EXPECT_EQ(filled("", "노드 8개 and 40 %, more", 2, 12), "노드 8개 and\n  40 %, more\n");
  EXPECT_EQ(filled("x ", "a-long-word b", 0, 4), "x a-long-word\nb\n");
  EXPECT_EQ(filled("", "9 %", 0, 2), "9 %\n");
  EXPECT_EQ(filled("", "", 2, 4), "\n");
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

TEST(Printable, ReplacesControlCharacters) {
  EXPECT_EQ(terminal_safe("a\tb\x7f\x1b[0m"), "a?b??[0m");
  EXPECT_EQ(terminal_safe("a\tb\n", "\t"), "a\tb?");
  EXPECT_EQ(terminal_safe("\xc2\x80|\xc2\x9b|\xc2\x9f|\xc2\xa0"), "?|?|?|\xc2\xa0");
}

TEST(Printable, ReplacesWhatTurnsTheDirection) {
  for (const char* const odd :
       {"\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae",
        "\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9", "\xd8\x9c", "\xe2\x80\x8e",
        "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf", "\xf3\xa0\x81\x81"}) {
    EXPECT_EQ(terminal_safe(std::string("node") + odd + "1"), "node?1");
  }
}

TEST(Printable, KeepsTheLettersOfEveryone) {
  for (const char* const name : {"M\xc3\xbcnchen", "\xeb\x85\xb8\xeb\x93\x9c", "\xd7\xa6\xd7\x95",
                                 "\xf0\x9f\x9a\x80", "\xe2\x80\xaf", "\xe2\x81\xa5"}) {
    EXPECT_EQ(terminal_safe(name), name);
  }
}

TEST(Printable, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(terminal_safe("\x9b"
                          "31m"),
            "?31m");  // a terminal of eight bits takes it for CSI
  EXPECT_EQ(terminal_safe("\xc1\x81\xe0\x82\x9b\xed\xa0\x80\xf4\x90\x80\x80"),
            std::string(12, '?'));
  EXPECT_EQ(terminal_safe("\xe2\x80"), "??");
  EXPECT_EQ(terminal_safe("\xf0\x80\x82\x9b"), "????");
  EXPECT_EQ(terminal_safe("\xc3(\xff"), "?(?");
}

}  // namespace
}  // namespace rdmabench::inline v1::report

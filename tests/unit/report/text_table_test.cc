#include "rdmabench/report/text_table.h"

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

TEST(Printable, ReplacesControlCharactersAlone) {
  EXPECT_EQ(printable("a\tb\x7f\x1b[0m"), "a?b??[0m");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\xc2?2J");
  EXPECT_EQ(printable("M\xc3\xbcnchen"), "M\xc3\xbcnchen");
}

}  // namespace
}  // namespace rdmabench::report

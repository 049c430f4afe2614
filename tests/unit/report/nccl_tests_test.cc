#include "report/nccl_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/run.h"

namespace rdmabench::inline v1::report {
namespace {

using testing::HasSubstr;

NcclTestsRow row(NcclTestsCell out, std::optional<NcclTestsCell> in) {
  NcclTestsRow made;
  made.size_bytes = 1048576;
  made.count = 262144;
  made.type = "float";
  made.reduction = "sum";
  made.root = -1;
  made.out_of_place = out;
  made.in_place = in;
  return made;
}

/// The row alone.
std::string row_text(const NcclTestsRow& row) {
  const std::string text = to_nccl_tests({.rows = {row}});
  const std::size_t begin = text.find("\n     1048576") + 1;
  return text.substr(begin, text.find('\n', begin) + 1 - begin);
}

NcclTestsTable table() {
  NcclTestsTable made;
  made.version = "1.2.3";
  made.library = "22809";
  made.program = "all_reduce_perf";
  made.min_bytes = 8;
  made.max_bytes = 128U << 20U;
  made.step = 2;
  made.step_is_factor = true;
  made.warmup = 1;
  made.iterations = 20;
  made.validation = 1;
  made.ranks = {{0, 12345, "node1", 0, "0000:1b:00", "NVIDIA H100 80GB HBM3"},
                {1, 123456, "a-longer-name", 10, "0000:43:00", "NVIDIA H100 80GB HBM3"}};
  made.rows = {row({31.42, 33.37, 58.40, 0, {}}, NcclTestsCell{31.10, 33.72, 59.01, 0, {}})};
  made.out_of_bounds = 0;
  made.average_bus_gb_per_s = 58.7054321;
  return made;
}

// The columns, blanks at the ends of lines included, are those of nccl-tests 2.19.6.
TEST(NcclTestsTable, IsNcclTestsOwn) {
  EXPECT_EQ(
      to_nccl_tests(table()),
      "# rdmabench 1.2.3, in the format of nccl-tests 2.19.6, nccl-library=22809\n"
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 "
      "agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
      "#\n"
      "# Using devices\n"
      "#  Rank  0 Group  0 Pid  12345 on      node1 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
      "#  Rank  1 Group  0 Pid 123456 on a-longer-name device 10 [0000:43:00] NVIDIA H100 80GB "
      "HBM3\n"
      "#\n"
      "#                                                              out-of-place                   "
      "    in-place          \n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
      "time   algbw   busbw  #wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             "
      "(us)  (GB/s)  (GB/s)         \n"
      "     1048576        262144     float     sum      -1    31.42   33.37   58.40       0    31.10 "
      "  33.72   59.01       0\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 58.7054 \n"
      "#\n"
      "# Collective test concluded: all_reduce_perf\n"
      "#\n"
      "\n");
}

TEST(NcclTestsTable, NumbersShrinkToTheirColumns) {
  const std::string line = row_text(
      row({123456.789, 0.001, 0.0005, 12, {}}, NcclTestsCell{246913.6, 1234.567, 98765.4, {}, {}}));
  EXPECT_EQ(
      line,
      "     1048576        262144     float     sum      -1   123457    0.00    0.00      12   "
      "246914  1234.6   98765    N/A\n");
  EXPECT_THAT(row_text(row({12345678.9, 99999.6, 1e7, 1234567, {}}, {})),
              HasSubstr("  1.2e+07  100000   1e+07  1.23457e+06"));
}

TEST(NcclTestsTable, WhatHasNoNumberIsNotANumber) {
  EXPECT_EQ(
      row_text(row({1, 2, {}, 0, {}}, {})),
      "     1048576        262144     float     sum      -1     1.00    2.00     N/A       0   "
      "   N/A     N/A     N/A    N/A\n");
}

TEST(NcclTestsTable, SpreadAddsFourColumnsAPlacement) {
  NcclTestsTable made = table();
  const NcclTestsCell::Spread spread{1, 123456.7891, 5, 5};
  made.rows = {row({31.42, 33.37, 58.40, 0, spread}, NcclTestsCell{62.84, 16.68, 29.2, 0, spread})};
  const std::string text = to_nccl_tests(made);
  EXPECT_THAT(
      text,
      HasSubstr(
          "              out-of-place (+ per-iteration)                                in-place "
          "(+ per-iteration)\n"));
  EXPECT_THAT(text, HasSubstr("  #wrong    i_min    i_max    i_p99    i_cv%     time"));
  EXPECT_THAT(text, HasSubstr("       0     1.00   123457     5.00     5.00    62.84"));
}

TEST(NcclTestsTable, WrongElementsFail) {
  NcclTestsTable made = table();
  made.out_of_bounds = 3;
  made.average_bus_gb_per_s.reset();
  EXPECT_THAT(to_nccl_tests(made), HasSubstr("# Out of bounds values : 3 FAILED\n"));
  EXPECT_THAT(to_nccl_tests(made), HasSubstr("# Avg bus bandwidth    : N/A \n"));
}

TEST(NcclTestsTable, IsReadBackAsItWas) {
  const NcclTestsTable made = table();
  const std::vector<import::Run> runs = import::read(to_nccl_tests(made), "x", "");
  ASSERT_EQ(runs.size(), 1U);
  const auto& read = std::get<NcclTestsTable>(runs[0]);
  EXPECT_EQ(to_nccl_tests(read).substr(to_nccl_tests(read).find('\n')),
            to_nccl_tests([&] {
              NcclTestsTable rounded = made;
              rounded.average_bus_gb_per_s = 58.7054;
              return rounded;
            }())
                .substr(to_nccl_tests(made).find('\n')));
  EXPECT_EQ(read.size, 2U);
}

TEST(NcclTestsTable, ComesRowByRow) {
  NcclTestsTable so_far = table();
  const NcclTestsRow whole = so_far.rows[0];
  NcclTestsText text(false);
  so_far.rows[0].in_place.reset();
  std::string parts = text.more(so_far, false);
  EXPECT_EQ(parts.find("\n     1048576"), std::string::npos) << "its numbers in place may come";
  so_far.rows[0] = whole;
  const std::string row = text.more(so_far, false);
  EXPECT_EQ(row, row_text(whole));
  parts += row + text.more(so_far, true);
  EXPECT_EQ(parts, to_nccl_tests(so_far));
}

}  // namespace
}  // namespace rdmabench::inline v1::report

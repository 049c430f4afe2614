#include "ucxperftest/output.h"

#include <gtest/gtest.h>

namespace rdmabench::inline v1::tools::ucx_perftest {
namespace {

report::Report ping_pong(std::uint64_t iterations, double p50_ns, double mean_ns) {
  report::Report report;
  report::LatencyResult row;
  row.size_bytes = 8;
  row.iterations = iterations;
  row.latency.p50_ns = p50_ns;
  row.latency.mean_ns = mean_ns;
  report.results = std::vector{row};
  return report;
}

report::Report stream(std::uint64_t size, std::uint64_t iterations, double messages_per_s) {
  report::Report report;
  report::BandwidthResult row;
  row.size_bytes = size;
  row.iterations = iterations;
  row.messages_per_s = messages_per_s;
  report.results = std::vector{row};
  return report;
}

Options of(std::vector<std::string> words) {
  words.emplace_back("host");
  return parse(words);
}

// What ucx_perftest of UCX 1.13 prints, line by line.
TEST(UcxPerftestOutput, HeadingsAreUcxs) {
  EXPECT_EQ(
      heading(of({"-t", "tag_lat"})),
      "+--------------+--------------+------------------------------+---------------------+-----------------------+\n"
      "|              |              |        latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |\n"
      "+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+\n"
      "|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |\n"
      "+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+\n");
  EXPECT_EQ(
      heading(of({"-t", "tag_bw", "-f", "-R", "99.9"})),
      "+--------------+--------------+------------------------------+---------------------+-----------------------+\n"
      "|              |              |       overhead (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |\n"
      "+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+\n"
      "|     Test     | # iterations | 99.9%ile | average | overall |  average |  overall |  average  |  overall  |\n"
      "+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+\n");
  EXPECT_EQ(
      heading(of({"-t", "tag_lat", "-v"})),
      "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n");
}

TEST(UcxPerftestOutput, APingPongHasItsPercentileAndHalfItsRoundTrip) {
  const report::Report report = ping_pong(1000000, 2457, 2463);
  EXPECT_EQ(
      result_row(report, of({"-t", "tag_lat"})),
      "Final:               1000000      2.457     2.463     2.463        3.10       3.10      406009      406009\n");
  EXPECT_EQ(
      result_row(report, of({"-t", "tag_lat", "-f"})),
      "                     1000000      2.457     2.463     2.463        3.10       3.10      406009      406009\n");
  EXPECT_EQ(
      result_row(report, of({"-t", "tag_lat", "-N"})),
      "Final:             1,000,000      2.457     2.463     2.463        3.10       3.10     406,009     406,009\n");
  EXPECT_EQ(result_row(report, of({"-t", "tag_lat", "-v"})),
            "1000000,2.457,2.463,2.463,3.10,3.10,406009,406009\n");
}

TEST(UcxPerftestOutput, AStreamHasTheTimeOfAMessageAndNoPercentile) {
  EXPECT_EQ(
      result_row(stream(4096, 100000, 86514), of({"-t", "tag_bw", "-s", "4096"})),
      "Final:                100000      0.000    11.559    11.559      337.95     337.95       86514       86514\n");
}

TEST(UcxPerftestOutput, ThreadsHaveFourNumbersTogether) {
  // 2 threads, 20000 iterations of each.
  EXPECT_EQ(
      result_row(stream(8, 40000, 3242), of({"-t", "tag_bw", "-T", "2"})),
      "Final:                 20000                       616.903                   0.02                    3242\n");
  EXPECT_EQ(result_row(stream(8, 40000, 3242), of({"-t", "tag_bw", "-T", "2", "-v"})),
            "20000,616.903,0.02,3242\n");
}

TEST(UcxPerftestOutput, WhatWasCutOffHasNoFinalRow) {
  report::Report report = ping_pong(500, 2000, 2000);
  std::get<std::vector<report::LatencyResult>>(report.results)[0].complete = false;
  EXPECT_EQ(result_row(report, of({"-t", "tag_lat"})).substr(0, 28),
            "[thread 0]               500");
  EXPECT_EQ(result_row(report, of({"-t", "tag_lat", "-v"})).substr(0, 15), "[thread 0] 500,");
  EXPECT_EQ(result_row({}, of({"-t", "tag_lat"})), "");
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::ucx_perftest

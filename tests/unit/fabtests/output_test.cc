#include "fabtests/output.h"

#include <gtest/gtest.h>

namespace rdmabench::inline v1::tools::fabtests {
namespace {

std::string to_text(const report::Report& report, const Options& options) {
  std::size_t told = 0;
  return more_text(report, options, told);
}

report::Report ping_pong(std::uint64_t size, std::uint64_t iterations, double mean_ns) {
  report::Report report;
  report::LatencyResult row;
  row.size_bytes = size;
  row.iterations = iterations;
  row.latency.mean_ns = mean_ns;
  report.results = std::vector{row};
  return report;
}

TEST(FabtestsOutput, APingPongMovesItsBytesBothWays) {
  // 10000 round trips of 8 us: 80 ms, 1.28 MB.
  EXPECT_EQ(to_text(ping_pong(64, 10000, 4000), {}),
            "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
            "64      10k     1.2m        0.08s     16.00       4.00       0.25\n");
}

TEST(FabtestsOutput, PingPongSaysWhatCameBack) {
  Options options;
  options.test = Program::pingpong;
  EXPECT_EQ(to_text(ping_pong(64, 10, 4000), options),
            "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
            "64      10      =10      1.2k        0.00s     16.00       4.00       0.25\n");
}

TEST(FabtestsOutput, AStreamMovesThemOneWay) {
  report::Report report;
  report::BandwidthResult row;
  row.size_bytes = 1 << 20;
  row.iterations = 200;
  row.elapsed_ns = 1e8;
  report.results = std::vector{row};
  EXPECT_EQ(to_text(report, {}),
            "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
            "1m      200     200m        0.10s   2097.15     500.00       0.00\n");
}

TEST(FabtestsOutput, RecordsForMachinesRepeatTheCommandLine) {
  Options options;
  options.machine_readable = true;
  options.words = {"fi_rdm_pingpong", "-m", "h"};
  EXPECT_EQ(to_text(ping_pong(8, 100, 2000), options),
            "---\nfi_rdm_pingpong -m h :\n"
            "- { xfer_size: 8, iterations: 100, total: 1600, time: 0.000400, MB/sec: 4.000000, "
            "usec/xfer: 2.000000, Mxfers/sec: 0.500000 }\n");
}

TEST(FabtestsOutput, RowsThatComeLaterStandUnderTheSameHeading) {
  std::size_t told = 0;
  report::Report report = ping_pong(8, 100, 2000);
  const std::string first = more_text(report, {}, told);
  auto& rows = std::get<std::vector<report::LatencyResult>>(report.results);
  rows.push_back(rows[0]);
  const std::string second = more_text(report, {}, told);
  EXPECT_EQ(first.substr(0, 5), "bytes");
  EXPECT_EQ(second.substr(0, 2), "8 ");
  EXPECT_EQ(first + second, to_text(report, {}));
  EXPECT_EQ(more_text(report, {}, told), "");
}

TEST(FabtestsOutput, NothingMeasuredPrintsNothing) {
  EXPECT_EQ(to_text({}, {}), "");
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::fabtests

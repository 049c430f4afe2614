#include "perftest/to_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "perftest/command_line.h"
#include "rdmabench/base/error.h"

namespace rdmabench::tools::perftest {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using transport::OperationCode;
using Kind = measure::StopRule::Kind;

run::Config config_of(std::string_view name, const std::vector<std::string>& words) {
  const Tool& tool = *find_tool(name);
  return to_config(tool, parse(tool, words).flags);
}

TEST(ToConfig, DefaultsArePerftests) {
  EXPECT_THAT(config_of("ib_write_lat", {"h"}).sizes, ElementsAre(2));
  EXPECT_THAT(config_of("ib_write_bw", {"h"}).sizes, ElementsAre(65536));
  EXPECT_THAT(config_of("ib_atomic_bw", {"h"}).sizes, ElementsAre(8));
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).stop.count, 5000U);
  EXPECT_EQ(config_of("ib_send_bw", {"h"}).stop.count, 1000U);
  EXPECT_EQ(config_of("ib_write_lat", {"h"}).stop.kind, Kind::iterations);
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).depth, 128U);
  EXPECT_EQ(config_of("ib_write_lat", {"h"}).depth, 0U) << "perftest waits for each completion";
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).backend, "verbs");
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).shape, workload::Shape::stream);
  EXPECT_EQ(config_of("ib_read_lat", {"h"}).shape, workload::Shape::latency);
}

TEST(ToConfig, AllIsFromTwoBytesToEightMebibytes) {
  const auto all = config_of("ib_write_bw", {"-a", "h"}).sizes;
  EXPECT_EQ(all.front(), 2U);
  EXPECT_EQ(all.back(), std::uint64_t{1} << 23);
  EXPECT_EQ(all.size(), 23U);
}

TEST(ToConfig, AllOverDatagramsEndsAtTheMtu) {
  const Tool& tool = *find_tool("ib_send_bw");
  EXPECT_EQ(sizes(tool, parse(tool, {"-a", "-cUD", "-m1024", "h"}).flags).back(), 1024U);
  EXPECT_THROW(sizes(tool, parse(tool, {"-a", "-cUD", "h"}).flags), Error);
}

TEST(ToConfig, CompletionModerationIsPerftests) {
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).signal_every, 1U) << "above 8 KiB";
  EXPECT_EQ(config_of("ib_write_bw", {"-s8K", "h"}).signal_every, 100U);
  EXPECT_EQ(config_of("ib_write_bw", {"-s8K", "-t", "16", "h"}).signal_every, 16U);
  EXPECT_EQ(config_of("ib_write_bw", {"-Q", "7", "h"}).signal_every, 7U);
  EXPECT_EQ(config_of("ib_write_bw", {"-a", "h"}).signal_every, 100U);
  EXPECT_EQ(config_of("ib_write_lat", {"h"}).signal_every, 0U);
  const Tool& tool = *find_tool("ib_write_bw");
  EXPECT_EQ(signal_every(tool, parse(tool, {"-s8", "-l", "4", "h"}).flags), 4U);
}

TEST(ToConfig, DurationIsWholeUnlessAMarginIsAskedFor) {
  const run::Config whole = config_of("ib_write_bw", {"-D", "10", "h"});
  EXPECT_EQ(whole.stop.kind, Kind::duration);
  EXPECT_EQ(whole.stop.time, seconds(10));
  EXPECT_EQ(config_of("ib_write_bw", {"-D10", "-f2", "h"}).stop.time, seconds(6));
  EXPECT_EQ(config_of("ib_write_bw", {"-D10", "-n", "5", "h"}).stop.kind, Kind::duration)
      << "as perftest has it";
}

TEST(ToConfig, Operations) {
  EXPECT_EQ(config_of("ib_write_bw", {"--write_with_imm", "h"}).operation,
            OperationCode::write_imm);
  EXPECT_EQ(config_of("ib_send_bw", {"--send_with_imm", "h"}).operation, OperationCode::send_imm);
  EXPECT_EQ(config_of("ib_atomic_bw", {"h"}).operation, OperationCode::fetch_add);
  EXPECT_EQ(config_of("ib_atomic_bw", {"-A", "CMP_AND_SWAP", "h"}).operation,
            OperationCode::compare_swap);
}

TEST(ToConfig, TheDeviceHasItsPort) {
  const auto named = [](const std::vector<std::string>& words) {
    return device(parse(*find_tool("ib_write_bw"), words).flags);
  };
  EXPECT_EQ(named({"-d", "mlx5_0", "-i", "2", "h"}), "mlx5_0:2");
  EXPECT_EQ(named({"-d", "mlx5_0", "h"}), "mlx5_0");
  EXPECT_EQ(named({"-i", "1", "h"}), "") << "the first port, which is any device's";
}

}  // namespace
}  // namespace rdmabench::tools::perftest

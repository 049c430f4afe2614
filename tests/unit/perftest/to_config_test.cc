#include "perftest/to_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "perftest/command_line.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools::perftest {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using transport::OperationCode;
using Kind = measure::StopRule::Kind;

run::Config config_of(std::string_view name, const std::vector<std::string>& words) {
  const Tool& tool = *find_tool_in(tools(), name);
  return to_config(tool, parse(tool, words).flags);
}

TEST(ToConfig, DefaultsArePerftests) {
  EXPECT_THAT(config_of("ib_write_lat", {"h"}).sizes, ElementsAre(2));
  EXPECT_THAT(config_of("ib_write_bw", {"h"}).sizes, ElementsAre(65536));
  EXPECT_THAT(config_of("ib_atomic_bw", {"h"}).sizes, ElementsAre(8));
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).stop.count, 5000U);
  EXPECT_EQ(config_of("ib_send_bw", {"h"}).stop.count, 1000U);
  EXPECT_EQ(config_of("ib_write_lat", {"h"}).stop.kind, Kind::iterations);
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).traffic.depth, 128U);
  EXPECT_EQ(config_of("ib_write_lat", {"h"}).traffic.depth, std::nullopt)
      << "perftest waits for each completion";
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).backend, "verbs");
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).traffic.shape, workload::Shape::bandwidth);
  EXPECT_EQ(config_of("ib_read_lat", {"h"}).traffic.shape, workload::Shape::latency);
}

TEST(ToConfig, AllIsFromTwoBytesToEightMebibytes) {
  const auto all = config_of("ib_write_bw", {"-a", "h"}).sizes;
  EXPECT_EQ(all.front(), 2U);
  EXPECT_EQ(all.back(), std::uint64_t{1} << 23);
  EXPECT_EQ(all.size(), 23U);
}

TEST(ToConfig, AllOverDatagramsEndsAtTheMtu) {
  const Tool& tool = *find_tool_in(tools(), "ib_send_bw");
  EXPECT_EQ(sizes(tool, parse(tool, {"-a", "-cUD", "-m1024", "h"}).flags).back(), 1024U);
  Flags flags = parse(tool, {"-a", "-cUD", "h"}).flags;
  EXPECT_THROW(sizes(tool, flags), Error) << "no port is known";
  flags.port_mtu = 2048;
  EXPECT_EQ(sizes(tool, flags).back(), 2048U);
}

TEST(ToConfig, AnIpv6GidIsChosenByTheRoute) {
  EXPECT_EQ(config_of("ib_write_bw", {"--ipv6", "h"}).placement.gid_index, transport::kAnyIpv6Gid);
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).placement.gid_index, transport::kAnyGid);
}

TEST(ToConfig, CompletionModerationIsPerftests) {
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).traffic.signal_every, 1U) << "above 8 KiB";
  EXPECT_EQ(config_of("ib_write_bw", {"-s8K", "h"}).traffic.signal_every, 100U);
  EXPECT_EQ(config_of("ib_write_bw", {"-s8K", "-t", "16", "h"}).traffic.signal_every, 16U);
  EXPECT_EQ(config_of("ib_write_bw", {"-Q", "7", "h"}).traffic.signal_every, 7U);
  EXPECT_EQ(config_of("ib_write_bw", {"-a", "h"}).traffic.signal_every, 100U);
  EXPECT_EQ(config_of("ib_write_lat", {"h"}).traffic.signal_every, std::nullopt);
  const Tool& tool = *find_tool_in(tools(), "ib_write_bw");
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
  EXPECT_EQ(config_of("ib_write_bw", {"--write_with_imm", "h"}).traffic.operation,
            OperationCode::write_imm);
  EXPECT_EQ(config_of("ib_send_bw", {"--send_with_imm", "h"}).traffic.operation,
            OperationCode::send_imm);
  EXPECT_EQ(config_of("ib_atomic_bw", {"h"}).traffic.operation, OperationCode::fetch_add);
  EXPECT_EQ(config_of("ib_atomic_bw", {"-A", "CMP_AND_SWAP", "h"}).traffic.operation,
            OperationCode::compare_swap);
}

TEST(ToConfig, EveryOptionOfALinkArrives) {
  const auto words = words_of(
      "-q4 -t64 -r 32 -Q8 -l8 -e -X3 -I64 -x2 -m1024 -R --sl=3 --tclass=96 --qp-timeout=18 "
      "--odp --numa_node=1 --pin_cores=2,4-7 --data_validation -d mlx5_0 -i2 --timeout=3s h");
  const run::Config config = config_of("ib_write_bw", {words.begin(), words.end()});
  EXPECT_EQ(config.endpoint.queue_pairs, 4U);
  EXPECT_EQ(config.stop.count, 20000U) << "perftest counts the iterations of each queue pair";
  EXPECT_EQ(config.traffic.depth, 64U);
  EXPECT_EQ(config.traffic.receives, 32U);
  EXPECT_EQ(config.traffic.signal_every, 8U);
  EXPECT_EQ(config.endpoint.post_list, 8U);
  EXPECT_TRUE(config.endpoint.events);
  EXPECT_EQ(config.endpoint.verbs.completion_vector, 3);
  EXPECT_EQ(config.endpoint.inline_limit, 64);
  EXPECT_EQ(config.placement.gid_index, 2);
  EXPECT_EQ(config.endpoint.verbs.mtu, 1024);
  EXPECT_TRUE(config.endpoint.verbs.rdma_cm);
  EXPECT_EQ(config.endpoint.verbs.path.service_level, 3);
  EXPECT_EQ(config.endpoint.verbs.path.traffic_class, 96);
  EXPECT_EQ(config.endpoint.verbs.path.timeout, 18);
  EXPECT_TRUE(config.endpoint.on_demand);
  EXPECT_FALSE(config.endpoint.verbs.region_per_queue_pair);
  EXPECT_TRUE(config_of("ib_write_bw", {"--mr_per_qp", "-q", "4", "h"})
                  .endpoint.verbs.region_per_queue_pair);
  EXPECT_EQ(config.placement.numa, "1");
  EXPECT_THAT(config.placement.cpus, ElementsAre(2));
  EXPECT_TRUE(config.traffic.validate);
  EXPECT_THAT(config.placement.devices, ElementsAre("mlx5_0:2"));
  EXPECT_EQ(config.timeout, seconds(3));
}

TEST(ToConfig, ShapesServicesAndQueues) {
  EXPECT_EQ(config_of("ib_write_bw", {"-b", "h"}).traffic.shape, workload::Shape::bidirectional);
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).endpoint.service, transport::Service::rc);
  EXPECT_EQ(config_of("ib_write_bw", {"--backend=ofi", "h"}).endpoint.service,
            transport::Service::automatic);
  EXPECT_EQ(config_of("ib_send_bw", {"-cUD", "h"}).endpoint.service, transport::Service::ud);
  EXPECT_TRUE(config_of("ib_send_bw", {"--use-srq", "h"}).endpoint.verbs.shared_receives);
  EXPECT_EQ(config_of("ib_read_bw", {"-o", "4", "h"}).endpoint.outstanding_reads, 4U);
  EXPECT_EQ(config_of("ib_write_bw", {"--run_infinitely", "h"}).stop.kind, Kind::duration);
}

TEST(ToConfig, Rates) {
  EXPECT_EQ(config_of("ib_write_bw", {"--rate_limit=10", "h"}).bit_rate, 10e9);
  EXPECT_EQ(config_of("ib_write_bw", {"--rate_limit=1", "--rate_units=M", "h"}).bit_rate,
            8.0 * 1024 * 1024);
  const run::Config paced = config_of("ib_write_bw", {"--rate_limit=500", "--rate_units=p", "h"});
  EXPECT_EQ(paced.rate, 500);
  EXPECT_EQ(paced.bit_rate, 0);
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).bit_rate, 0);
}

TEST(ToConfig, Memory) {
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).placement.memory, "host");
  EXPECT_EQ(config_of("ib_write_bw", {"--use_hugepages", "h"}).placement.memory, "huge");
  EXPECT_EQ(config_of("ib_write_bw", {"--mmap=/tmp/x", "h"}).placement.memory, "file:/tmp/x");
  EXPECT_EQ(config_of("ib_write_bw", {"--mmap=/tmp/x", "--mmap-offset=4K", "h"}).placement.memory,
            "file:/tmp/x@4096");
  EXPECT_EQ(config_of("ib_write_bw", {"--disable_numa", "h"}).placement.numa, "none");
}

TEST(ToConfig, GpuMemory) {
  const auto of = [](const std::vector<std::string>& words) {
    return config_of("ib_write_bw", words);
  };
  EXPECT_EQ(of({"--use_cuda=1", "h"}).placement.memory, "cuda:1");
  EXPECT_EQ(of({"--use_cuda=1", "h"}).placement.peer_memory, "") << "the server follows in kind";
  EXPECT_EQ(of({"--use_cuda=1", "h"}).endpoint.gpu_mapping, memory::GpuMapping::automatic);
  EXPECT_EQ(of({"--use_cuda_bus_id=0000:1b:00.0", "h"}).placement.memory, "cuda:0000:1b:00.0");
  EXPECT_EQ(of({"--use_cuda=0", "--use_cuda_dmabuf", "h"}).endpoint.gpu_mapping,
            memory::GpuMapping::standard);
  EXPECT_EQ(of({"--use_cuda=0", "--use_cuda_dmabuf", "--use_cuda_pcie_mapping", "h"})
                .endpoint.gpu_mapping,
            memory::GpuMapping::pcie);
  EXPECT_EQ(
      of({"--use_cuda=0", "--use_cuda_dmabuf", "--use_data_direct", "h"}).endpoint.gpu_mapping,
      memory::GpuMapping::data_direct);
  EXPECT_EQ(of({"h"}).endpoint.gpu_mapping, memory::GpuMapping::automatic);
}

TEST(ToConfig, RelaxedOrderingIsOnExceptWhereItWouldBreakTheTest) {
  EXPECT_EQ(config_of("ib_write_bw", {"h"}).endpoint.relaxed_ordering, true);
  EXPECT_EQ(config_of("ib_write_bw", {"--disable_pcie_relaxed", "h"}).endpoint.relaxed_ordering,
            false);
  EXPECT_EQ(config_of("ib_write_lat", {"h"}).endpoint.relaxed_ordering, false)
      << "the last byte says that a message is there";
  EXPECT_EQ(config_of("ib_read_lat", {"h"}).endpoint.relaxed_ordering, true);
  EXPECT_EQ(config_of("ib_write_bw", {"--backend", "ofi", "h"}).endpoint.relaxed_ordering,
            std::nullopt)
      << "libfabric has none";
}

TEST(ToConfig, TheDeviceHasItsPort) {
  const auto named = [](const std::vector<std::string>& words) {
    return device(parse(*find_tool_in(tools(), "ib_write_bw"), words).flags);
  };
  EXPECT_EQ(named({"-d", "mlx5_0", "-i", "2", "h"}), "mlx5_0:2");
  EXPECT_EQ(named({"-d", "mlx5_0", "h"}), "mlx5_0");
  EXPECT_EQ(named({"-i", "1", "h"}), "") << "the first port, which is any device's";
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::perftest

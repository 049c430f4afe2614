#include "ucxperftest/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "flags/command_line.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools::ucx_perftest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using transport::OperationCode;
using workload::Shape;

std::string refusal(const std::vector<std::string>& words) {
  const Error error = complaint([&] { parse(words); });
  EXPECT_EQ(error.fault(), Fault::usage);
  return std::string(error.what()) + " " + error.remedy();
}

TEST(UcxPerftestOptions, DefaultsAreUcxs) {
  const Options server = parse({});
  EXPECT_EQ(server.host, "");
  EXPECT_EQ(server.port, 13337);
  EXPECT_EQ(server.config.backend, "ucx");
  const Options client = parse({"-t", "tag_lat", "node2"});
  EXPECT_EQ(client.host, "node2");
  EXPECT_THAT(client.config.sizes, ElementsAre(8));
  EXPECT_EQ(client.config.stop.count, 1'000'000U);
  EXPECT_EQ(client.percentile.rank, 50);
  EXPECT_THAT(client.notes, IsEmpty());
}

TEST(UcxPerftestOptions, EachTestIsAnOperationAndAShape) {
  struct Row {
    const char* test;
    OperationCode operation;
    Shape shape;
    std::uint32_t depth;
  };
  for (const Row& row : {Row{"tag_lat", OperationCode::send, Shape::latency, 0},
                         Row{"tag_bw", OperationCode::send, Shape::bandwidth, 32},
                         Row{"ucp_put_lat", OperationCode::write, Shape::latency, 0},
                         Row{"put_bw", OperationCode::write, Shape::bandwidth, 32},
                         Row{"ucp_get", OperationCode::read, Shape::latency, 0},
                         Row{"get_bw", OperationCode::read, Shape::bandwidth, 32},
                         Row{"ucp_fadd", OperationCode::fetch_add, Shape::latency, 0},
                         Row{"cswap", OperationCode::compare_swap, Shape::latency, 0}}) {
    const run::Config config = parse({"h", "-t", row.test}).config;
    EXPECT_EQ(config.traffic.operation, row.operation) << row.test;
    EXPECT_EQ(config.traffic.shape, row.shape) << row.test;
    EXPECT_EQ(config.traffic.depth.value_or(0), row.depth) << row.test;
  }
  const run::Config many = parse({"h", "-t", "ucp_get", "-O", "16"}).config;
  EXPECT_EQ(many.traffic.shape, Shape::bandwidth);
  EXPECT_EQ(many.traffic.depth, 16U);
  EXPECT_EQ(parse({"h", "-t", "tag_bw", "-O", "1"}).config.traffic.shape, Shape::bandwidth);
}

TEST(UcxPerftestOptions, ActiveMessagesAreAServiceOfSends) {
  for (const char* const test : {"ucp_am_lat", "am_bw"}) {
    const Options o = parse({"h", "-t", test});
    EXPECT_EQ(o.config.traffic.operation, transport::OperationCode::send);
    EXPECT_EQ(o.config.endpoint.service, transport::Service::am);
  }
}

TEST(UcxPerftestOptions, EachOptionReachesTheRun) {
  const Options o =
      parse({"-t", "tag_bw", "-s", "4096",  "-n", "500",       "-w", "7",      "-T", "2",
             "-M", "multi",  "-c", "0,2-4", "-p", "4000",      "-R", "99.9",   "-E", "sleep",
             "-V", "-f",     "-v", "-N",    "-m", "host,host", "-D", "contig", "h"});
  EXPECT_THAT(o.config.sizes, ElementsAre(4096));
  EXPECT_EQ(o.config.stop.count, 1000U) << "each thread has 500";
  EXPECT_EQ(o.config.warmup, 7);
  EXPECT_EQ(o.config.traffic.threads, 2U);
  EXPECT_THAT(o.processors, ElementsAre(0, 2, 3, 4));
  EXPECT_EQ(o.port, 4000);
  EXPECT_EQ(o.percentile.member, &measure::LatencySummary::p999_ns);
  EXPECT_TRUE(o.config.endpoint.events);
  EXPECT_TRUE(o.config.traffic.validate);
  EXPECT_TRUE(o.final_only);
  EXPECT_TRUE(o.csv);
  EXPECT_TRUE(o.groups_digits);
  EXPECT_TRUE(parse({"h", "-t", "ucp_get", "-o"}).config.traffic.target_idle);
  EXPECT_EQ(parse({"h", "-t", "tag_lat", "--timeout", "3s"}).config.timeout,
            std::chrono::seconds(3));
  EXPECT_EQ(parse({"h", "-t", "tag_lat", "--backend", "loop"}).config.backend, "loop");
}

TEST(UcxPerftestOptions, TestsOfUctAreMeasuredOverUcpAndThatIsSaid) {
  const Options o = parse({"h", "-t", "put_lat", "-d", "mlx5_0:1", "-x", "rc_mlx5"});
  EXPECT_THAT(o.config.placement.devices, ElementsAre("mlx5_0:1"));
  EXPECT_EQ(o.config.endpoint.ucx.transports, "rc_x") << "with what connects it";
  EXPECT_THAT(o.notes, ElementsAre(HasSubstr("as ucp_put_lat")));
  EXPECT_THAT(parse({"h", "-t", "put_bw", "-d", "memory", "-x", "posix"}).config.placement.devices,
              IsEmpty());
  EXPECT_THAT(parse({"h", "-t", "tag_lat", "-x", "tcp"}).notes, ElementsAre(HasSubstr("UCX_TLS")));
}

TEST(UcxPerftestOptions, WhatIsNotHereIsRefusedByNameWithWhatToUse) {
  for (const auto& [words, hint] : std::vector<std::pair<std::vector<std::string>, const char*>>{
           {{"h"}, "-t tag_lat"},
           {{"h", "-t", "nonsense"}, "tag_lat"},
           {{"h", "-t", "ucp_am_lat", "-H", "16"}, "8 bytes"},
           {{"h", "-t", "ucp_add"}, "ucp_fadd"},
           {{"h", "-t", "add_mr"}, "ucp_fadd"},
           {{"h", "-t", "ucp_swap"}, "ucp_cswap"},
           {{"h", "-t", "tag_sync_bw"}, "tag_bw"},
           {{"h", "-t", "stream_lat"}, "tag_lat"},
           {{"h", "-t", "tag_lat", "-s", "16,48"}, "one size"},
           {{"h", "-t", "tag_lat", "-s", "1024:4"}, "one size"},
           {{"h", "-t", "tag_lat", "-s", "0"}, "at least one byte"},
           {{"h", "-t", "tag_lat", "-s", "8x"}, "-s"},
           {{"h", "-t", "tag_lat", "-R", "75"}, "99.9"},
           {{"h", "-t", "tag_lat", "-m", "cuda"}, "--memory cuda"},
           {{"h", "-t", "tag_lat", "-D", "iov"}, "-D iov"},
           {{"h", "-t", "tag_lat", "-T", "2:4"}, "-T 2:4"},
           {{"h", "-t", "tag_lat", "-e", "-efailover"}, "failover"},
           {{"h", "-t", "tag_lat", "-enone"}, "leave it out"},
           {{"h", "-t", "tag_lat", "-H", "8"}, "-H 8"},
           {{"-l", "-t", "tag_lat"}, "demo --backend ucx"},
           {{"h", "-t", "tag_lat", "-b", "file"}, "each test"},
           {{"h", "-t", "tag_lat", "-G", "10.0.0.1"}, "leave it out"},
           {{"h", "-t", "tag_lat", "-c", "4-2"}, "ascending"},
           {{"h", "-t", "tag_lat", "-E", "spin"}, "poll"},
           {{"h", "-t", "tag_lat", "-M", "none"}, "single"},
           {{"h", "-t", "tag_lat", "-Z"}, "-Z"},
           {{"h", "i", "-t", "tag_lat"}, "'i'"}}) {
    EXPECT_THAT(refusal(words), HasSubstr(hint)) << words.back();
  }
}

TEST(UcxPerftestOptions, WhatHasNoEffectIsSaidAndWhatIsAlwaysSoIsNot) {
  EXPECT_THAT(parse({"h", "-t", "tag_lat", "-W", "127"}).notes, ElementsAre(HasSubstr("-W")));
  EXPECT_THAT(parse({"h", "-t", "tag_lat", "-e", "-z", "-I", "-6", "-H", "0", "-P", "0"}).notes,
              IsEmpty());
}

TEST(UcxPerftestOptions, HelpHasEachTest) {
  const std::string text = parse({"-h"}).answer;
  for (const ucx_perftest::Test& test : ucx_perftest::tests()) {
    EXPECT_THAT(text, HasSubstr(std::string(test.name.empty() ? test.lower_name : test.name)));
  }
  EXPECT_NE(find_tool_in(ucx_perftest::tools(), "/usr/bin/ucx_perftest"), nullptr);
  EXPECT_EQ(find_tool_in(ucx_perftest::tools(), "ucx_info"), nullptr);
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::ucx_perftest

#include "fabtests/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "base/text.h"
#include "flags/flag.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools::fabtests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using transport::OperationCode;
using transport::Service;

Options parsed(Program test, const std::vector<std::string>& words) {
  return parse(test, words);
}

int skipped(Program test, const std::vector<std::string>& words) {
  try {
    parsed(test, words);
  } catch (const Skip& skip) {
    return skip.code();
  } catch (const Error& error) {
    return -static_cast<int>(error.fault());
  }
  return 0;
}

TEST(FabtestsOptions, KnowsItsNames) {
  EXPECT_EQ(find_tool_in(tools(), "fi_rma_bw")->program, Program::rma_bw);
  EXPECT_EQ(find_tool_in(tools(), "/bin/fi_msg_pingpong")->program, Program::msg_pingpong);
  EXPECT_EQ(find_tool_in(tools(), "fi_pingpong")->program, Program::pingpong);
  EXPECT_EQ(find_tool_in(tools(), "fi_info"), nullptr);
  EXPECT_EQ(find_tool_in(tools(), "rdmabench"), nullptr);
}

TEST(FabtestsOptions, DefaultsAreFabtests) {
  const Options server = parsed(Program::rdm_pingpong, {});
  EXPECT_EQ(server.host, "");
  EXPECT_EQ(server.port, 9228);
  EXPECT_THAT(server.config.sizes, ElementsAre(64, 256, 1024, 4096, 65536, 1048576));
  EXPECT_THAT(server.config.counts, ElementsAre(10000, 10000, 10000, 10000, 1000, 100));
  EXPECT_EQ(server.config.warmup, 10);
  EXPECT_EQ(server.config.backend, "ofi");
  EXPECT_EQ(server.config.traffic.shape, workload::Shape::latency);
  EXPECT_EQ(server.config.traffic.operation, OperationCode::send);
  EXPECT_EQ(server.config.endpoint.service, Service::rdm);

  const Options stream = parsed(Program::rma_bw, {"10.0.0.1"});
  EXPECT_EQ(stream.host, "10.0.0.1");
  EXPECT_EQ(stream.config.traffic.shape, workload::Shape::bandwidth);
  EXPECT_EQ(stream.config.traffic.operation, OperationCode::write);
  EXPECT_EQ(stream.config.traffic.depth, 64U);
  EXPECT_THAT(stream.config.counts, ElementsAre(20000, 20000, 20000, 20000, 2000, 200));
  EXPECT_EQ(parsed(Program::msg_pingpong, {}).config.endpoint.service, Service::msg);
  EXPECT_EQ(parsed(Program::rdm_bw, {}).config.traffic.operation, OperationCode::send);
}

TEST(FabtestsOptions, TakesTheRunnersCommandLines) {
  // In the order in which runfabtests.py writes them: HOST may stand before options.
  const Options client =
      parsed(Program::rma_bw, {"-e", "msg", "-o", "writedata", "-I", "5", "-U", "-p", "tcp", "-s",
                               "127.0.0.1", "127.0.0.1", "-v"});
  EXPECT_EQ(client.config.endpoint.service, Service::msg);
  EXPECT_EQ(client.config.traffic.operation, OperationCode::write_imm);
  EXPECT_THAT(client.config.counts, ::testing::Each(5));
  EXPECT_TRUE(client.config.endpoint.ofi.delivery);
  EXPECT_EQ(client.config.endpoint.ofi.provider, "tcp");
  EXPECT_EQ(client.source, "127.0.0.1");
  EXPECT_EQ(client.host, "127.0.0.1");
  EXPECT_TRUE(client.config.traffic.validate);
}

TEST(FabtestsOptions, EachOptionReachesTheRun) {
  const Options o =
      parsed(Program::rma_bw, {"-d",    "eth0",      "-f", "efa-direct", "-w",    "3",  "-W",
                               "16",    "-j",        "65", "-c",         "fd",    "-m", "-t",
                               "queue", "--timeout", "7",  "--pin-core", "0,2-4", "h"});
  EXPECT_THAT(o.config.placement.devices, ElementsAre("eth0"));
  EXPECT_EQ(o.config.placement.fabric, "efa-direct");
  EXPECT_EQ(o.config.warmup, 3);
  EXPECT_EQ(o.config.traffic.depth, 16U);
  EXPECT_EQ(o.config.endpoint.inline_limit, 64);  // fabtests injects what is smaller
  EXPECT_TRUE(o.config.endpoint.events);
  EXPECT_TRUE(o.machine_readable);
  EXPECT_EQ(o.config.timeout, std::chrono::seconds(7));
  EXPECT_THAT(o.cores, ElementsAre(0, 2, 3, 4));
  const Options aligned = parsed(Program::rdm_bw, {"-l", "-S", "5000"});
  EXPECT_EQ(aligned.config.traffic.stride, 8192U);
}

TEST(FabtestsOptions, SizesAreAsInFabtests) {
  const auto sizes = [](const char* text) {
    return parsed(Program::rdm_pingpong, {"-S", text}).config.sizes;
  };
  EXPECT_THAT(sizes("4096"), ElementsAre(4096));
  EXPECT_THAT(sizes("r:4,4,16"), ElementsAre(4, 8, 12, 16));
  EXPECT_THAT(sizes("l:1,100,3"), ElementsAre(1, 100, 3));
  EXPECT_EQ(sizes("all").size(), 46U);
  EXPECT_EQ(sizes("all").front(), 1U);
  EXPECT_EQ(sizes("all").back(), 8U << 20);
  for (const char* bad : {"", "4k", "-1", "r:4,0,8", "r:8,4,4", "r:1,1", "r:1,1,1000000",
                          "l:", "l:1,", "1,2", "99999999999"}) {
    EXPECT_EQ(skipped(Program::rdm_pingpong, {"-S", bad}), -2) << bad;
  }
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-S", "0"}), Skip::kNoSys);
}

TEST(FabtestsOptions, PortsAreTheSidesOwn) {
  EXPECT_EQ(parsed(Program::rdm_bw, {"-B", "4000", "-P", "5000"}).port, 4000);
  EXPECT_EQ(parsed(Program::rdm_bw, {"-P", "5000", "h"}).port, 5000);
  EXPECT_EQ(skipped(Program::rdm_bw, {"-B", "4000", "h"}), Skip::kNoSys);
  EXPECT_EQ(parsed(Program::rdm_bw, {"-b"}).port, 3000);
  EXPECT_EQ(parsed(Program::rdm_bw, {"-E=3001", "h"}).port, 3001);
  EXPECT_EQ(parsed(Program::rdm_bw, {"-b=3001"}).port, 3001);
  EXPECT_EQ(parsed(Program::rdm_bw, {"-b", "-B", "4000"}).port, 3000);  // -B is the provider's
  EXPECT_EQ(skipped(Program::rdm_bw, {"-E=99999"}), -2);
}

TEST(FabtestsOptions, AWordThatIsNoneIsRefused) {
  for (const char* flag : {"-t", "-c", "-e"}) {
    EXPECT_THAT(complaint([&] {
                  parsed(Program::rdm_pingpong, {flag, "nonsense"});
                }).what(),
                ::testing::HasSubstr("'nonsense'"))
        << flag;
  }
}

TEST(FabtestsOptions, WhatIsNotHereIsSkipped) {
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-D", "cuda"}), 38);
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-t", "counter"}), 38);
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-K"}), 38);
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-H"}), 38);
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-Q"}), 38);
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-M", "mr_local"}), 38);
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-a", "av"}), 38);
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-c", "yield"}), 38);
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-F", "fi_sockaddr_in"}), 38);
  EXPECT_EQ(skipped(Program::msg_pingpong, {"-o", "tagged"}), 38);
  EXPECT_EQ(skipped(Program::rdm_pingpong, {"-k"}), 61);
  EXPECT_EQ(skipped(Program::rma_bw, {"-e", "dgram"}), 61);
}

TEST(FabtestsOptions, WhatFabtestsRefusesIsAnError) {
  for (const char* line : {"-Z", "--nope", "-I", "-I 0", "-I x", "-W 0", "-o read", "--timeout 0",
                           "--pin-core 1-", "--pin-core 4-2", "-c hope"}) {
    const auto words = words_of(line);
    EXPECT_EQ(skipped(Program::rdm_pingpong, {words.begin(), words.end()}), -2) << line;
  }
  EXPECT_EQ(skipped(Program::rma_pingpong, {"-o", "read"}), -2);
  EXPECT_EQ(skipped(Program::rma_bw, {"-o", "jump"}), -2);
  EXPECT_EQ(skipped(Program::msg_pingpong, {"-U"}), -2);
}

TEST(FabtestsOptions, NamedTypesStayWhatTheyAre) {
  EXPECT_EQ(parsed(Program::rdm_pingpong, {"-e", "msg"}).config.endpoint.service, Service::rdm);
  EXPECT_EQ(parsed(Program::msg_pingpong, {"-e", "rdm"}).config.endpoint.service, Service::msg);
  EXPECT_EQ(parsed(Program::rma_pingpong, {"-e", "msg"}).config.endpoint.service, Service::msg);
}

TEST(PingPongOptions, DefaultsAreLibfabrics) {
  const Options one = parsed(Program::pingpong, {"-p", "efa", "node1"});
  EXPECT_EQ(one.host, "node1");
  EXPECT_EQ(one.port, 47592);
  EXPECT_EQ(one.config.endpoint.ofi.provider, "efa");
  EXPECT_THAT(one.config.sizes, ElementsAre(64, 256, 1024, 4096, 65536, 1048576));
  EXPECT_THAT(one.config.counts, ::testing::Each(10));
  EXPECT_EQ(one.config.warmup, 0);
  EXPECT_EQ(one.config.traffic.shape, workload::Shape::latency);
  EXPECT_EQ(one.config.traffic.operation, OperationCode::send);
}

TEST(PingPongOptions, ADatagramByDefaultIsSaidNotToBeOne) {
  const Options silent = parsed(Program::pingpong, {});
  EXPECT_EQ(silent.config.endpoint.service, Service::rdm);
  EXPECT_THAT(silent.notes, ElementsAre(::testing::AllOf(HasSubstr("dgram"), HasSubstr("-e rdm"))));
  EXPECT_THAT(parsed(Program::pingpong, {"-e", "RDM"}).notes, ::testing::IsEmpty());
  EXPECT_EQ(parsed(Program::pingpong, {"-e", "msg"}).config.endpoint.service, Service::msg);
  EXPECT_EQ(skipped(Program::pingpong, {"-e", "dgram"}), Skip::kNoData);
  EXPECT_EQ(skipped(Program::pingpong, {"-e", "rdma"}), -2);  // the whole word, unlike fabtests
}

TEST(PingPongOptions, LettersMeanWhatTheyMeanThere) {
  const Options o = parsed(Program::pingpong, {"-c", "-v", "-6", "-I", "7", "-S", "ALL", "-m",
                                               "msg", "-e", "rdm", "-P", "4000", "h"});
  EXPECT_TRUE(o.config.traffic.validate);
  EXPECT_FALSE(o.machine_readable);
  EXPECT_EQ(o.port, 4000);
  EXPECT_THAT(o.config.counts, ::testing::Each(7));
  EXPECT_EQ(o.config.sizes.size(), 45U);
  EXPECT_EQ(o.config.sizes.back(), 6U << 20);
  EXPECT_THAT(o.notes, ElementsAre(HasSubstr("-v")));
  EXPECT_FALSE(parsed(Program::pingpong, {"-v"}).config.traffic.validate);
  EXPECT_THAT(parsed(Program::pingpong, {"-S", "1048576"}).config.sizes, ElementsAre(1048576));
  EXPECT_EQ(skipped(Program::pingpong, {"-m", "tagged"}), Skip::kNoSys);
  for (const char* bad : {"r:1,1,3", "l:1,2", "4k", ""}) {
    EXPECT_EQ(skipped(Program::pingpong, {"-S", bad}), -2) << bad;
  }
  EXPECT_EQ(skipped(Program::pingpong, {"-W", "3"}), -2);  // fabtests' own
}

TEST(PingPongOptions, AnErrorNamesTheProgramsOwnFlag) {
  const auto flag_of = [](Program test) {
    for (const auto& [field, flag] : fields(test)) {
      if (field == "validate") return std::string(flag);
    }
    return std::string();
  };
  EXPECT_EQ(flag_of(Program::pingpong), "-c");
  EXPECT_EQ(flag_of(Program::rdm_pingpong), "-v");
}

TEST(FabtestsOptions, HelpNamesTheTestAndItsOptions) {
  EXPECT_THAT(parsed(Program::rma_bw, {"-h"}).answer,
              ::testing::AllOf(HasSubstr("fi_rma_bw"), HasSubstr("-o op")));
  EXPECT_THAT(parsed(Program::rdm_bw, {"-h"}).answer, ::testing::Not(HasSubstr("-o op")));
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::fabtests

#include "log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "../setting.h"
#include "report/facts.h"

namespace rdmabench::collective::nccl {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;

// Lines as NCCL 2.18 to 2.30 write them; hosts, numbers and order are made up.
constexpr const char* kOverNics =
    "n1:100:101 [0] NCCL INFO NET/Plugin: Loaded net plugin rdmabench (v11)\n"
    "n1:100:101 [0] NCCL INFO Using network rdmabench\n"
    "n1:100:101 [0] NCCL INFO Channel 00/02 :    0   1\n"
    "n1:100:101 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/rdmabench/0/GDRDMA\n"
    "n1:100:101 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/rdmabench/0/GDRDMA\n";

TEST(NcclLog, TellsPluginNetworkAndRoutes) {
  const LogFacts facts = parse_log(kOverNics);
  EXPECT_EQ(facts.network, "rdmabench");
  EXPECT_EQ(facts.plugin, "rdmabench (v11)");
  EXPECT_EQ(facts.routes, "NET/rdmabench/0/GDRDMA");
  EXPECT_TRUE(facts.any_network_route);
  EXPECT_TRUE(facts.gpudirect);
}

TEST(NcclLog, OneConnectionWithoutGpuDirectIsEnough) {
  const std::string with_one =
      std::string(kOverNics) +
      "n1:100:101 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/1/Shared\n" +
      "n1:100:101 [0] NCCL INFO Channel 02/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA(PCI)\n";
  const LogFacts facts = parse_log(with_one);
  EXPECT_TRUE(facts.any_network_route);
  EXPECT_FALSE(facts.gpudirect);
  EXPECT_EQ(facts.routes, "NET/IB/0/GDRDMA(PCI), NET/IB/1/Shared, NET/rdmabench/0/GDRDMA");
}

TEST(NcclLog, WithinAHostNoRouteGoesThroughANic) {
  const LogFacts facts = parse_log(
      "n1:1:2 [0] NCCL INFO Channel 00/24 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "n1:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\r\n");
  EXPECT_EQ(facts.routes, "P2P/CUMEM/read, SHM/direct/direct");
  EXPECT_TRUE(facts.any_route);
  EXPECT_FALSE(facts.any_network_route);
}

TEST(NcclLog, NothingAndRubbishTellNothing) {
  for (const char* const text : {"", "\n\n", "Channel via", "Using network", " via NET/IB/0"}) {
    const LogFacts facts = parse_log(text);
    EXPECT_EQ(facts.network, "") << text;
    EXPECT_FALSE(facts.any_route) << text;
  }
}

TEST(NcclLog, AUsersOwnLogIsLeftAlone) {
  const Setting level("NCCL_DEBUG", "WARN");
  const Log log;
  EXPECT_STREQ(std::getenv("NCCL_DEBUG"), "WARN");
  EXPECT_THAT(log.facts(), Contains(Field(&report::Fact::name, "gpudirect_unknown")));
}

TEST(NcclLog, AFileThatCannotBeOpenedAgainIsNotSetBecauseNcclWouldWriteToStandardOutput) {
  const Log log("/proc/self/nothing");
  for (const char* const name : {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"}) {
    EXPECT_EQ(std::getenv(name), nullptr);
  }
  const report::Facts facts = log.facts();
  EXPECT_THAT(report::text_of(facts, "network_unknown"), HasSubstr("could not open its log again"));
}

TEST(NcclLog, ReadsWhatIsWrittenToTheFileItNames) {
  {
    const Log log;
    std::FILE* const file = std::fopen(std::getenv("NCCL_DEBUG_FILE"), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(kOverNics, file);
    std::fclose(file);
    const report::Facts facts = log.facts();
    EXPECT_THAT(facts,
                Contains(testing::AllOf(
                    Field(&report::Fact::name, "network"),
                    Field(&report::Fact::value, testing::VariantWith<std::string>("rdmabench")))));
    EXPECT_THAT(facts, Contains(testing::AllOf(
                           Field(&report::Fact::name, "gpudirect"),
                           Field(&report::Fact::value, testing::VariantWith<bool>(true)))));
  }
  for (const char* const name : {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"}) {
    ::unsetenv(name);
  }
}

}  // namespace
}  // namespace rdmabench::collective::nccl

#include "log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "../folder.h"
#include "../setting.h"
#include "base/descriptor.h"
#include "results/facts.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;

/// What NCCL_DEBUG_FILE is while it is lent.
std::string log_path() {
  const LentSettings lent = Log(std::nullopt).lend();
  const char* const path = std::getenv("NCCL_DEBUG_FILE");
  return path == nullptr ? "" : path;
}

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

const std::vector<const char*> kSettings{"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"};

TEST(NcclLog, AUsersOwnLogIsLeftAlone) {
  const Setting level("NCCL_DEBUG", "WARN");
  const Log log(std::nullopt);
  const LentSettings lent = log.lend();
  EXPECT_STREQ(std::getenv("NCCL_DEBUG"), "WARN");
  EXPECT_EQ(std::getenv("NCCL_DEBUG_FILE"), nullptr);
  EXPECT_THAT(log.facts(), Contains(Field(&report::Fact::name, "gpudirect_unknown")));
}

TEST(NcclLog, AUsersLogInAFileOfSettingsIsLeftAloneToo) {
  const Folder home;
  home.write(".nccl.conf", "NCCL_DEBUG=WARN\n");
  const Log log(home.path());
  const LentSettings lent = log.lend();
  EXPECT_EQ(std::getenv("NCCL_DEBUG_FILE"), nullptr);
  EXPECT_THAT(report::text_of(log.facts(), "network_unknown"), HasSubstr(".nccl.conf' is set"));
}

TEST(NcclLog, AFileThatCannotBeOpenedAgainIsNotSetBecauseNcclWouldWriteToStandardOutput) {
  const Log log(std::nullopt, "/proc/self/nothing");
  const LentSettings lent = log.lend();
  for (const char* const name : kSettings) EXPECT_EQ(std::getenv(name), nullptr);
  const report::Facts facts = log.facts();
  EXPECT_THAT(report::text_of(facts, "network_unknown"), HasSubstr("could not open its log again"));
}

TEST(NcclLog, ANameThatMeansAnotherProcesssFileIsNotSet) {
  const Folder processes;
  const std::string file = log_path();
  processes.write("decoy", "17 bytes of data");
  const std::filesystem::path name = processes.path() + file.substr(std::strlen("/proc"));
  std::filesystem::create_directories(name.parent_path());
  std::filesystem::create_symlink(processes.file("decoy"), name);
  const Log log(std::nullopt, processes.path());
  const LentSettings lent = log.lend();
  EXPECT_EQ(std::getenv("NCCL_DEBUG_FILE"), nullptr);
}

TEST(NcclLog, ReadsWhatIsWrittenToTheFileItNames) {
  const Log log(std::nullopt);
  {
    const LentSettings lent = log.lend();
    std::FILE* const file = std::fopen(std::getenv("NCCL_DEBUG_FILE"), "w");
    ASSERT_NE(file, nullptr);
    std::fputs(kOverNics, file);
    std::fclose(file);
  }
  const report::Facts facts = log.facts();
  EXPECT_EQ(report::text_of(facts, "network"), "rdmabench");
  EXPECT_THAT(facts, Contains(testing::AllOf(
                         Field(&report::Fact::name, "gpudirect"),
                         Field(&report::Fact::value, testing::VariantWith<bool>(true)))));
  const report::Facts later = Log(std::nullopt).facts();  // what was logged before is not its own
  EXPECT_THAT(later, Contains(Field(&report::Fact::name, "routes_unknown")));
  EXPECT_EQ(report::text_of(later, "net_plugin"), "rdmabench (v11)");
}

TEST(NcclLog, NothingOfItStaysInTheEnvironment) {
  const Log log(std::nullopt);
  {
    const LentSettings of_a_rank = log.lend();
    {
      const LentSettings of_another = log.lend();
      EXPECT_EQ(set_by_user({"NCCL_DEBUG"}, std::nullopt), "") << "what is lent is not the user's";
    }
    for (const char* const name : kSettings) EXPECT_NE(std::getenv(name), nullptr) << name;
  }
  for (const char* const name : kSettings) EXPECT_EQ(std::getenv(name), nullptr) << name;
}

TEST(NcclLog, ItsNameMeansNoOtherFileWhileTheProcessLives) {
  const std::string name = log_path();
  const std::string own = fmt::format("/proc/{}/fd/", ::getpid());
  ASSERT_EQ(name.substr(0, own.size()), own) << "a child's /proc/self is another process";
  const int number = std::stoi(name.substr(own.size()));
  EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC);
  const Descriptor later(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_NE(later.get(), number) << "the number was free: any file of the program may get it";
  EXPECT_EQ(log_path(), name);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl

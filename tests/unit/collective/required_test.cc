// Whether the intended device carried a run, by made-up counters.
#include <gmock/gmock.h>

#include "../has_all.h"
#include "collective/commands.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kMega = 1'000'000;

report::Counter counter(const char* device, const char* name, std::uint64_t change) {
  return {.device = device, .name = name, .kind = "traffic", .source = "", .change = change};
}

/// Two nodes of two ranks; 10 all-reduces of 100 MB, of which 1000 MB leave each node.
Run run_with(std::uint64_t ib_megabytes, std::uint64_t eth_megabytes) {
  Run run;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    RankReport report{.identity = {.rank = rank, .host = rank < 2 ? "n0" : "n1"}};
    report.counters = {counter("mlx5_0:1", "port_sent_bytes", ib_megabytes * kMega),
                       counter("eth0", "interface_sent_bytes", eth_megabytes * kMega),
                       counter("eth0", "interface_received_bytes", 9000 * kMega)};
    run.ranks.push_back(report);
  }
  run.rows.push_back(
      {.ranks = {0, 1, 2, 3}, .size_bytes = 100 * kMega, .iterations = 8, .warmup = 2});
  return run;
}

/// What was not met: "n0: it sent ...".
std::vector<std::string> unmet(const Run& run, const std::vector<run::Requirement>& required) {
  std::vector<std::string> found;
  for (const RequirementFinding& one : prove(run, required)) {
    if (one.status == Status::fail) {
      found.push_back(one.required + ": " + one.subject + ": " + one.text);
    }
  }
  return found;
}

TEST(Required, TheDeviceThatSentTheBytesMeetsIt) {
  EXPECT_THAT(unmet(run_with(1000, 3), parse_required("device=mlx5_0")), IsEmpty());
  EXPECT_THAT(unmet(run_with(600, 3), parse_required("device=mlx5_0")), IsEmpty())
      << "switches that reduce send half";
}

TEST(Required, AFallBackNamesWhatWasUsedOnEachNode) {
  EXPECT_THAT(unmet(run_with(3, 1010), parse_required("device=mlx5_0")),
              ElementsAre(has_all("n0: it sent 3 MB", "1000 MB", "sent by eth0 1010 MB"),
                          HasSubstr("n1: ")));
  EXPECT_THAT(unmet(run_with(3, 4), parse_required("device=mlx5_0")),
              ElementsAre(HasSubstr("no other device sent as much"), HasSubstr("n1")));
}

TEST(Required, OneOfTwoRailsIsNotEnough) {
  auto run = run_with(1000, 3);
  EXPECT_THAT(unmet(run, parse_required("device=mlx5_0,device=mlx5_1")),
              ElementsAre(HasSubstr("mlx5_1: n0: it counted no bytes"), HasSubstr("mlx5_1: n1")));
  for (RankReport& rank : run.ranks) {
    rank.counters.push_back(counter("mlx5_1:1", "port_sent_bytes", 400 * kMega));
  }
  EXPECT_THAT(unmet(run, parse_required("device=mlx5_0,device=mlx5_1")), IsEmpty());
}

TEST(Required, OnOneNodeNothingIsKnown) {
  auto run = run_with(0, 0);
  for (RankReport& rank : run.ranks) rank.identity.host = "n0";
  EXPECT_THAT(unmet(run, parse_required("device=mlx5_0")),
              ElementsAre(HasSubstr("no bytes had to leave")));
}

TEST(Required, GpuDirectIsTheWordOfEachRanksLog) {
  auto run = run_with(0, 0);
  run.ranks[0].facts = {{"routes", "NET/IB/0/GDRDMA"}, {"gpudirect", true}};
  run.ranks[1].facts = {{"routes", "NET/IB/0/GDRDMA, NET/IB/1"}, {"gpudirect", false}};
  run.ranks[2].facts = {{"gpudirect_unknown", "NCCL_DEBUG is set, so NCCL's log is the user's"}};
  for (RankReport& rank : run.ranks) rank.facts = parse<RankReport>(to_text(rank)).facts;
  const auto findings = prove(run, parse_required("gpudirect"));
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_EQ(findings[1].status, Status::fail);
  EXPECT_EQ(findings[1].subject, "rank 1 (n0)");
  EXPECT_THAT(findings[1].text, HasSubstr("direct: NET/IB/0/GDRDMA, NET/IB/1"));
  EXPECT_EQ(findings[2].status, Status::open);
  EXPECT_THAT(findings[2].text, HasSubstr("NCCL_DEBUG is set"));
  EXPECT_EQ(findings[3].status, Status::open);
  EXPECT_THAT(findings[3].text, HasSubstr("does not say"));
  run.findings = findings;
  EXPECT_TRUE(failed(run));
  EXPECT_THAT(to_json(run), HasSubstr("gpudirect: on rank 1 (n0) not all"));
}

TEST(Required, ACounterAtItsEndProvesOnlyWhatItCounted) {
  auto run = run_with(3, 1010);
  run.ranks[0].counters[0].at_least = run.ranks[1].counters[0].at_least = true;
  const auto findings = prove(run, parse_required("device=mlx5_0"));
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].status, Status::open);
  EXPECT_EQ(findings[1].status, Status::fail);
  run.ranks[2].counters[0].at_least = run.ranks[3].counters[0].at_least = true;
  EXPECT_THAT(unmet(run, parse_required("device=mlx5_0")), SizeIs(2)) << "nothing was proved";
}

TEST(Required, AProofThatPassedIsThereToo) {
  const auto findings = prove(run_with(1000, 3), parse_required("device=mlx5_0"));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].required, "device=mlx5_0");
  EXPECT_EQ(findings[0].subject, "n0");
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_THAT(findings[0].text, has_all("sent 1000 MB", "need 1000 MB"));
}

TEST(RankReport, FactsKeepTheirTypesAndLoseWhatATerminalObeys) {
  RankReport sent;
  sent.facts = {
      {"share", 0.5}, {"gpu_ordinal", std::uint64_t{3}}, {"a\nb", std::string("c\x1b[2J")}};
  const report::Facts facts = parse<RankReport>(to_text(sent)).facts;
  ASSERT_EQ(facts.size(), 3U);
  EXPECT_EQ(std::get<double>(facts[0].value), 0.5);
  EXPECT_EQ(std::get<std::uint64_t>(facts[1].value), 3U);
  EXPECT_EQ(facts[2].name, "a; b");
  EXPECT_EQ(std::get<std::string>(facts[2].value), "c?[2J");
}

TEST(RankReport, HasRoomForANodeOfManyVirtualFunctions) {
  RankReport sent;
  sent.counters.resize(4096, {.device = "mlx5_100:1",
                              .name = "sent_bytes",
                              .kind = "traffic",
                              .source = "counters/port_xmit_data",
                              .change = 1,
                              .at_least = false});
  const auto read = parse<RankReport, kReportValues>(to_text(sent));
  EXPECT_EQ(read.counters.size(), sent.counters.size());
}

TEST(Required, NetworkIsWhatTheConnectionsOfTheRanksUse) {
  auto run = run_with(0, 0);
  const auto all_are = [&run](const report::Facts& facts) {
    for (RankReport& rank : run.ranks) rank.facts = facts;
  };
  all_are({{"network", std::string("Socket")},
           {"routes", std::string("NET/Socket/0")},
           {"gpudirect", false}});
  EXPECT_THAT(unmet(run, parse_required("network=Socket")), IsEmpty());
  EXPECT_THAT(unmet(run, parse_required("network=IB")), Each(HasSubstr("the library says Socket")));
  run.ranks[0].facts[0].value = std::string("IB");
  EXPECT_THAT(unmet(run, parse_required("network=Socket")),
              ElementsAre(HasSubstr("the library says IB")));
  all_are({{"network", std::string("Socket")},
           {"routes", std::string("SHM/direct/direct")},
           {"gpudirect_unknown", std::string("no connection of this rank goes through a NIC")}});
  EXPECT_THAT(unmet(run, parse_required("network=Socket")),
              AllOf(SizeIs(4), Each(HasSubstr("SHM/direct"))));
  all_are({{"network_unknown", std::string("NCCL's log went elsewhere")}});
  EXPECT_THAT(unmet(run, parse_required("network=Socket")),
              AllOf(SizeIs(4), Each(HasSubstr("went elsewhere"))));
}

TEST(Required, AnUnknownOneIsAnError) {
  for (const char* text : {"", "device", "device=", "rail=mlx5_0", "device=a,", "network"}) {
    EXPECT_THROW(parse_required(text), Error) << text;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::collective

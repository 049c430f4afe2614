#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "../has_all.h"
#include "rdmabench/fabric/run.h"
#include "report/digest.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::fabric {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Every pair once at 100 Gb/s, each node on a host of its own.
Matrix whole(std::uint32_t nodes) {
  Matrix matrix;
  matrix.plan.latency_sizes.clear();
  for (std::uint32_t a = 0; a < nodes; ++a) {
    matrix.nodes.push_back(
        {.rank = a, .host = fmt::format("host{}", a), .rails = {}, .environment = {}});
    for (std::uint32_t b = 0; b < nodes; ++b) {
      if (a == b) continue;
      matrix.measurements.push_back({.pattern = "round-robin",
                                     .sender = a,
                                     .receiver = b,
                                     .size_bytes = 1U << 20,
                                     .value = 100e9,
                                     .over = "verbs, provider mlx5, device mlx5_0:1"});
    }
  }
  return matrix;
}

Attribution judged(const Matrix& matrix, double noise = 0.01) {
  Attribution verdict;
  verdict.typical.push_back({.size_bytes = 1U << 20, .value = 100e9, .noise = noise});
  for (const Node& node : matrix.nodes) {
    verdict.nodes.push_back({.size_bytes = 1U << 20, .rank = node.rank, .verdict = Verdict::good});
  }
  return verdict;
}

Finding route(std::uint32_t a, std::uint32_t b) {
  Finding finding;
  finding.size_bytes = 1U << 20;
  finding.part = Part::route;
  finding.a = a;
  finding.b = b;
  finding.confirmed = true;
  finding.evidence = {"by this", "and by that"};
  finding.text = fmt::format("route {} to {} is slow", a, b);
  return finding;
}

std::string text_of(const Matrix& matrix, const Attribution& verdict) {
  return to_table(matrix, verdict, report::kAnyWidth);
}

TEST(VerdictText, SaysFirstWhatStandsOut) {
  const Matrix matrix = whole(4);
  EXPECT_THAT(text_of(matrix, judged(matrix)), StartsWith("Verdict: nothing stands out\n\n"));
  Attribution verdict = judged(matrix);
  verdict.findings = {route(0, 1)};
  EXPECT_THAT(text_of(matrix, verdict),
              StartsWith("Verdict: 1 finding\nFAIL host0 to host1: route: bandwidth 1M\n"
                         "  route 0 to 1 is slow\n  by this; and by that\n  do first: "));
  verdict = judged(matrix);
  for (NodeSummary& node : verdict.nodes) node.verdict = Verdict::ambiguous;
  EXPECT_THAT(text_of(matrix, verdict), StartsWith("Verdict: nothing could be judged\n"));
  verdict = judged(matrix);
  verdict.typical[0].value = 0;  // every measurement failed
  EXPECT_THAT(text_of(matrix, verdict), StartsWith("Verdict: nothing could be judged\n"));
  EXPECT_THAT(to_table(matrix, verdict), HasSubstr("typical[Gb/s]"));
}

TEST(VerdictText, CountsNoDirectionsWhereThereAreNone) {
  const Matrix matrix = whole(4);
  Attribution verdict = judged(matrix);
  verdict.crossed = Crossed{.leaves = 1, .within = 1};
  EXPECT_THAT(text_of(matrix, verdict), has_all("\nNo pair could cross a link", "of 1 leaves 1 "));
  verdict.crossed = Crossed{.directions = 4, .leaves = 2, .within = 2};
  EXPECT_THAT(text_of(matrix, verdict), has_all("\n0 of 4 directions", "of 2 leaves 2"));
  verdict.crossed = Crossed{.directions = 4, .crossed = 3, .fewest_pairs = 1, .leaves = 2};
  EXPECT_THAT(text_of(matrix, verdict),
              has_all("\n3 of 4 directions", "by 1 pair or more", "of 2 leaves 0"));
}

TEST(VerdictText, SaysFirstThatNodesWereLost) {
  Matrix matrix = whole(8);
  matrix.lost.push_back({.rank = 3, .round = 2, .reason = "no answer within 2.5 s"});
  EXPECT_THAT(text_of(matrix, judged(matrix)),
              AllOf(StartsWith("Verdict: 1 of 8 nodes lost: node 3 (host3); "),
                    HasSubstr(" 7 nothing stands out\nFAIL node 3 (host3): node: lost in round 2\n"
                              "  no answer within 2.5 s\n")));
  Attribution verdict = judged(matrix);
  verdict.findings = {route(0, 1)};
  const std::string one = nlohmann::json::parse(verdict_record(matrix, verdict))["summary"];
  EXPECT_THAT(one, has_all("1 of 8 nodes lost: node 3 (host3); ", " 7 ", " 1 finding"));
  EXPECT_THAT(text_of(matrix, verdict), StartsWith("Verdict: " + one + "\n"));
  verdict.findings.push_back(route(4, 5));
  EXPECT_THAT(text_of(matrix, verdict), HasSubstr(" 2 findings\n"));
  for (const std::uint32_t rank : {4, 5, 6}) matrix.lost.push_back({rank, 2, "no answer"});
  EXPECT_THAT(text_of(matrix, verdict),
              HasSubstr("\nFAIL 4 places: node: lost in round 2\n"
                        "  node 3 (host3): no answer within 2.5 s\n"
                        "  node 4 (host4): no answer (and 2 more like it)\n"));
}

/// What a node's agent tells of it.
void tell(Matrix& matrix, std::uint32_t rank, std::uint64_t ports, std::uint64_t devices = 0,
          const std::string& gpus = "8") {
  matrix.nodes[rank].environment = {{"rdma_devices", devices},
                                    {"rdma_ports_active", ports},
                                    {"doctor.software.product", "A"},
                                    {"doctor.gpu.count", gpus}};
}

TEST(VerdictText, BeginsWithNotRdmaWhereNobodyAskedForTcp) {
  Matrix matrix = whole(4);
  for (Measurement& one : matrix.measurements) one.over = "ofi, provider tcp, device eth0";
  for (std::uint32_t rank = 0; rank < 4; ++rank) tell(matrix, rank, 0);
  EXPECT_THAT(text_of(matrix, judged(matrix)),
              StartsWith("Verdict: NOT RDMA: measured over ofi, provider tcp, device eth0, no RDMA "
                         "device on 4 of 4 nodes; nothing stands out\n"));
  const auto found = report::judgements(
      report::parse_documents(to_json_lines(matrix) + verdict_record(matrix, judged(matrix)), "x")
          .at(0));
  EXPECT_EQ(found.at(0).outcome, Status::fail);
  matrix.allow_tcp = true;
  EXPECT_EQ(nlohmann::json::parse(verdict_record(matrix, judged(matrix)))["not_rdma"]["allowed"],
            true);
  tell(matrix, 0, 1);
  tell(matrix, 1, 0, 2);
  EXPECT_THAT(text_of(matrix, judged(matrix)),
              HasSubstr("no active port of an RDMA device on 3 of 4 nodes"));
  matrix.measurements.back().over = "ofi, provider udp;ofi_rxd, device eth0";
  for (Measurement& one : matrix.measurements) {
    if (&one != &matrix.measurements.back()) one.over = "ofi, provider cxi, device cxi0";
  }
  EXPECT_THAT(text_of(matrix, judged(matrix)), StartsWith("Verdict: NOT RDMA: measured over ofi, "
                                                          "provider udp;ofi_rxd, device eth0"));
  matrix.measurements.back().over = "ofi, provider cxi, device cxi0";
  EXPECT_THAT(text_of(matrix, judged(matrix)), StartsWith("Verdict: nothing stands out\n"));
  matrix.measurements.back().over = "ofi, provider tcp, device eth0";
  matrix.plan.provider = "tcp";
  EXPECT_THAT(text_of(matrix, judged(matrix)), StartsWith("Verdict: nothing stands out\n"));
}

TEST(VerdictText, ComparesTheNodesWithoutBeingAsked) {
  Matrix matrix = whole(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) tell(matrix, rank, 1, 1, rank == 2 ? "7" : "8");
  const std::string text = text_of(matrix, judged(matrix));
  EXPECT_THAT(text, has_all("Verdict: 1 node has less than the other nodes: node 2 (host2); ",
                            "FAIL node 2 (host2): node: gpu.count", "7; expected 8, as 3 of 3",
                            "compared with each other: 4 of A"));
}

TEST(VerdictText, FailsByWhatItSays) {
  const auto result_of = [](const Matrix& matrix) {
    return FabricResult{.matrix = matrix, .verdict = judged(matrix)};
  };
  const FabricResult good = result_of(whole(4));
  EXPECT_FALSE(failed(good));
  FabricResult bad = good;
  bad.matrix.measurements[0].error = "no completion for 5 s";
  EXPECT_TRUE(failed(bad));
  bad = good;
  bad.matrix.lost.push_back({.rank = 3, .round = 2, .reason = "no answer"});
  EXPECT_TRUE(failed(bad));
  bad = good;
  bad.verdict.findings = {route(0, 1)};
  EXPECT_TRUE(failed(bad));
  bad = good;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    tell(bad.matrix, rank, 1, 1, rank == 2 ? "7" : "8");
  }
  EXPECT_TRUE(failed(bad));
  bad = good;
  for (Measurement& one : bad.matrix.measurements) one.over = "ofi, provider tcp, device eth0";
  for (std::uint32_t rank = 0; rank < 4; ++rank) tell(bad.matrix, rank, 0);
  EXPECT_TRUE(failed(bad));
  bad.matrix.allow_tcp = true;
  EXPECT_FALSE(failed(bad));
  bad = good;
  for (NodeSummary& node : bad.verdict.nodes) node.verdict = Verdict::ambiguous;
  EXPECT_FALSE(failed(bad));
  EXPECT_TRUE(failed(bad, true));
}

TEST(VerdictText, FoldsFindingsThatAreAlike) {
  const Matrix matrix = whole(8);
  Attribution verdict = judged(matrix);
  for (std::uint32_t i = 0; i < 50; ++i) verdict.findings.push_back(route(i % 8, (i + 1) % 8));
  const std::string text = text_of(matrix, verdict);
  EXPECT_THAT(text, AllOf(StartsWith("Verdict: 50 findings\n"),
                          HasSubstr("\nFAIL 46 more: host4 to host5: route: bandwidth 1M, ")));
  EXPECT_LT(std::count(text.begin(), text.begin() + text.find("\n\n"), '\n'), 20);
}

TEST(VerdictText, FoldsWhatItSaysOfEachSize) {
  const Matrix matrix = whole(4);
  Attribution verdict = judged(matrix);
  verdict.not_judged = {"bandwidth of 1K: 2 of 4 nodes are at 0.5",
                        "bandwidth of 2M: 2 of 4 nodes are at 0.7", "One rail."};
  verdict.nodes.clear();
  for (std::uint64_t size = 1; size <= 8U << 20U; size *= 2) {
    verdict.nodes.push_back({.size_bytes = size, .verdict = Verdict::ambiguous});
  }
  EXPECT_THAT(text_of(matrix, verdict),
              has_all("\nSKIP the verdict: not judged\n"
                      "  bandwidth of 1K: 2 of 4 nodes are at 0.5 (and 1 more like it)\n"
                      "  One rail.\n",
                      "\n  bandwidth 1 (and 23 more like it)\n", " 3 reasons\n"));
}

TEST(VerdictText, ShowsWhatWasNotBorneOut) {
  Matrix matrix = whole(4);
  matrix.measurements[0].value = 60e9;
  Attribution verdict = judged(matrix);
  Finding sender = route(2, 0);
  sender.part = Part::sender;
  sender.b.reset();
  verdict.withdrawn = {route(0, 1), sender};
  EXPECT_THAT(text_of(matrix, verdict),
              has_all("not confirmed when measured again\n"
                      "part    who             metric     size\n"
                      "route   host0 to host1  bandwidth    1M\n"
                      "sender  host2           bandwidth    1M\n",
                      "node 0 (host0) to node 1 (host1), is not a finding"));
}

TEST(VerdictText, SaysWhyASlowPairIsNoFinding) {
  Matrix matrix = whole(4);
  matrix.measurements[0].value = 60e9;
  EXPECT_THAT(text_of(matrix, judged(matrix, 0.15)),
              has_all("bandwidth of 1M, node 0 (host0) to node 1 (host1), is not a finding", "15 %",
                      "below 47 % of typical"));
  EXPECT_THAT(text_of(matrix, judged(matrix, 3)), HasSubstr("no single pair can stand out"));
  EXPECT_THAT(text_of(matrix, judged(matrix)), HasSubstr("its ends"));
  matrix.measurements[0].value = 90e9;
  EXPECT_THAT(text_of(matrix, judged(matrix, 0.15)), Not(HasSubstr("is not a finding")));
}

TEST(VerdictText, CallsOneHostOneHost) {
  Matrix matrix = whole(4);
  for (Node& node : matrix.nodes) node.host = "box";
  EXPECT_THAT(text_of(matrix, judged(matrix)),
              has_all("\nFabric of 4 ranks on one host", "\nWARN All 4 ranks", "one host, box",
                      "--map-by node", "node 3 (box)"));
  matrix.nodes[0].host = "other";
  EXPECT_THAT(text_of(matrix, judged(matrix)), has_all("4 ranks share 2 hosts", "box (3)"));
}

TEST(VerdictText, CountsOneRoundAndSaysNothingOfNobody) {
  Matrix matrix = whole(4);
  for (Measurement& one : matrix.measurements) one.round = 0;
  EXPECT_THAT(text_of(matrix, judged(matrix)), HasSubstr(" 1 round; "));
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    matrix.lost.push_back({.rank = rank, .round = 0, .reason = "gone"});
  }
  EXPECT_THAT(text_of(matrix, judged(matrix)),
              AllOf(HasSubstr("4 of 4 nodes lost: "), Not(HasSubstr("among the other"))));
}

TEST(VerdictText, FoldsFailuresThatAreAlike) {
  Matrix matrix = whole(8);
  EXPECT_THAT(text_of(matrix, judged(matrix)), Not(HasSubstr("that failed")));
  matrix.lost.push_back({.rank = 3, .round = 2, .reason = "gone"});
  for (std::size_t i = 0; i < matrix.measurements.size(); ++i) {
    Measurement& one = matrix.measurements[i];
    if (one.sender == 3 || one.receiver == 3) one.error = fmt::format("connect to 10.0.0.{}", i);
    if (one.sender == 5 && one.receiver == 6) one.error = "no completion for 5 s";
    if (one.sender == 6 && one.receiver == 5) one.error = "no completion for 7 s";
  }
  std::string text = text_of(matrix, judged(matrix));
  text.erase(0, text.find("Measurements that failed"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_THAT(text, has_all("connect to 10.0.0.2 (and 13 more like it)\n",
                            "no completion for 5 s (and 1 more like it)\n"));
  matrix = whole(20);
  for (std::size_t i = 0; i < matrix.measurements.size(); ++i) {
    matrix.measurements[i].error = "no route to " + std::string(i + 1, 'x');
  }
  EXPECT_THAT(text_of(matrix, judged(matrix)), HasSubstr("\n376 more\n"));
}

TEST(VerdictText, NamesProviderAndDevice) {
  Matrix matrix = whole(4);
  EXPECT_THAT(text_of(matrix, judged(matrix)),
              HasSubstr("write over verbs, provider mlx5, device mlx5_0:1\n"));
  matrix.measurements[2].over = "ofi, provider tcp, device eth0";
  EXPECT_THAT(text_of(matrix, judged(matrix)),
              HasSubstr("write over verbs, provider mlx5, device mlx5_0:1 (11), ofi, provider tcp, "
                        "device eth0 (1)\n"));
  for (Measurement& one : matrix.measurements) one.over.clear();
  EXPECT_THAT(text_of(matrix, judged(matrix)), HasSubstr("write over auto\n"));
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric

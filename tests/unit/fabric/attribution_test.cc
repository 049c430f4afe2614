#include "rdmabench/fabric/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "rdmabench/fabric/run.h"
#include "synthetic_fabric.h"

namespace rdmabench::inline v1::fabric {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A fabric of 16 nodes without noise to speak of, 8 rounds chosen.
SyntheticFabric quiet(std::uint32_t nodes = 16, std::uint32_t rails = 1, double cv = 0.002) {
  SyntheticSpec spec;
  spec.nodes = nodes;
  spec.rails = rails;
  spec.cv = cv;
  spec.seed = 7;
  SyntheticFabric fabric(spec);
  fabric.choose(8);
  return fabric;
}

/// Every ordered pair once, all alike.
Matrix even(std::uint32_t nodes, double value = 1e11) {
  Matrix matrix = matrix_of(nodes);
  for (std::uint32_t a = 0; a < nodes; ++a) {
    for (std::uint32_t b = 0; b < nodes; ++b) {
      if (a == b) continue;
      Measurement cell;
      cell.pattern = "full";
      cell.sender = a;
      cell.receiver = b;
      cell.size_bytes = 8;
      cell.value = value;
      matrix.measurements.push_back(cell);
    }
  }
  return matrix;
}

Measurement& cell_of(Matrix& matrix, std::uint32_t sender, std::uint32_t receiver) {
  for (Measurement& cell : matrix.measurements) {
    if (cell.sender == sender && cell.receiver == receiver) return cell;
  }
  throw std::logic_error("no such cell");
}

void scale_sender(Matrix& matrix, std::uint32_t node, double factor) {
  for (Measurement& cell : matrix.measurements) {
    if (cell.sender == node) cell.value *= factor;
  }
}

void scale_receiver(Matrix& matrix, std::uint32_t node, double factor) {
  for (Measurement& cell : matrix.measurements) {
    if (cell.receiver == node) cell.value *= factor;
  }
}

void fail(Measurement& cell, const std::string& error) {
  cell.value = 0;
  cell.error = error;
}

const NodeSummary& node_of(const Attribution& attribution, std::uint32_t rank) {
  for (const NodeSummary& node : attribution.nodes) {
    if (node.rank == rank) return node;
  }
  throw std::logic_error("no such node");
}

TEST(Attribution, AHealthyFabricHasNoFindings) {
  auto fabric = quiet();
  const Attribution found = attribute(fabric.screen());
  EXPECT_THAT(found.findings, IsEmpty());
  ASSERT_THAT(found.typical, SizeIs(1));
  EXPECT_NEAR(found.typical[0].value, 392e9, 392e9 * 0.002);
  EXPECT_EQ(found.typical[0].cells, 128U);
  ASSERT_THAT(found.nodes, SizeIs(16));
  for (const NodeSummary& node : found.nodes) EXPECT_EQ(node.verdict, Verdict::good) << node.rank;
}

TEST(Attribution, ASlowNodeIsOneFindingOfBothDirections) {
  auto fabric = quiet();
  fabric.slow_node(5, 0.9);
  const Attribution found = attribute(fabric.screen());
  ASSERT_THAT(found.findings, SizeIs(1));
  const Finding& finding = found.findings[0];
  EXPECT_EQ(finding.part, Part::node);
  EXPECT_EQ(finding.a, 5U);
  EXPECT_EQ(finding.rail, std::nullopt);
  EXPECT_NEAR(finding.ratio, 0.9, 0.01);
  EXPECT_GT(finding.score, 5);
  EXPECT_FALSE(finding.confirmed);
  EXPECT_THAT(finding.text, has_all("node 5 (n5), bandwidth of 1M: sends", " 0.90 ", "typical 39"));
  EXPECT_EQ(node_of(found, 5).verdict, Verdict::suspect);
  EXPECT_NEAR(node_of(found, 5).sender_ratio, 0.9, 0.01);
}

TEST(Attribution, ConfirmingMeasurementsDecide) {
  auto fabric = quiet();
  fabric.slow_node(5, 0.9);
  Matrix matrix;
  const Attribution found = fabric.settle(matrix);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_TRUE(found.findings[0].confirmed);
  EXPECT_EQ(node_of(found, 5).verdict, Verdict::slow);
  EXPECT_THAT(found.findings[0].evidence, Contains(HasSubstr("4 known-good partners")));
}

TEST(Attribution, WhatDoesNotHappenAgainIsWithdrawn) {
  auto slow = quiet();
  slow.slow_node(5, 0.93);
  Matrix matrix = slow.screen();
  // It was slow then, and is not now.
  auto healed = quiet();
  healed.confirm(confirmations(attribute(matrix), matrix), matrix);
  const Attribution found = attribute(matrix);
  EXPECT_THAT(found.findings, IsEmpty());
  ASSERT_THAT(found.withdrawn, SizeIs(2));  // its sending and its receiving
  EXPECT_EQ(found.withdrawn[0].a, 5U);
  EXPECT_EQ(node_of(found, 5).verdict, Verdict::good);
}

TEST(Attribution, OneDirectionAloneIsNamed) {
  auto fabric = quiet();
  fabric.slow_sender(2, 0.8);
  fabric.slow_receiver(11, 0.52);
  const Attribution found = attribute(fabric.screen());
  ASSERT_THAT(found.findings, SizeIs(2));
  EXPECT_EQ(found.findings[0].part, Part::receiver);
  EXPECT_EQ(found.findings[0].a, 11U);
  EXPECT_NEAR(found.findings[0].ratio, 0.52, 0.01);
  EXPECT_THAT(found.findings[0].text, HasSubstr("receives at 0.52 of the typical"));
  EXPECT_THAT(found.findings[0].text, HasSubstr("sends at 1.00"));
  EXPECT_EQ(found.findings[1].part, Part::sender);
  EXPECT_EQ(found.findings[1].a, 2U);
}

TEST(Attribution, ANodeSlowOnOneRailIsThatNodeAndRail) {
  auto fabric = quiet(16, 4);
  fabric.slow_node(3, 0.8, 2);
  Matrix matrix;
  const Attribution found = fabric.settle(matrix);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].part, Part::node);
  EXPECT_EQ(found.findings[0].a, 3U);
  EXPECT_EQ(found.findings[0].rail, 2U);
  EXPECT_TRUE(found.findings[0].confirmed);
  EXPECT_THAT(found.findings[0].text, HasSubstr("rail 2 (mlx5_2)"));
}

TEST(Attribution, ASlowRailIsTheRailAndNoNode) {
  for (const std::uint32_t rails : {2U, 3U, 8U}) {
    auto fabric = quiet(16, rails);
    fabric.slow_rail(1, 0.9);
    Matrix matrix;
    const Attribution found = fabric.settle(matrix);
    ASSERT_THAT(found.findings, SizeIs(1)) << rails;
    EXPECT_EQ(found.findings[0].part, Part::rail);
    EXPECT_EQ(found.findings[0].rail, 1U);
    EXPECT_TRUE(found.findings[0].confirmed);
    EXPECT_THAT(found.findings[0].text, HasSubstr("on 16 of 16 nodes"));
  }
}

TEST(Attribution, ABadRouteIsTheRouteAndNoNode) {
  auto fabric = quiet(16, 2);
  const auto [a, b] = fabric.choose(0)[0][0];
  fabric.route(a, b, 0.5);
  Matrix matrix;
  const Attribution found = fabric.settle(matrix);
  ASSERT_THAT(found.findings, SizeIs(1));
  const Finding& finding = found.findings[0];
  EXPECT_EQ(finding.part, Part::route);
  EXPECT_EQ(finding.a, a);
  EXPECT_EQ(finding.b, b);
  EXPECT_EQ(finding.rail, std::nullopt);
  EXPECT_TRUE(finding.confirmed);
  EXPECT_NEAR(finding.ratio, 0.5, 0.01);
  EXPECT_THAT(finding.evidence, Contains(HasSubstr("measured again in 3 rounds: 0.50")));
}

TEST(Attribution, ARouteOnOneRailIsNamedWithIt) {
  auto fabric = quiet(16, 2);
  const auto [a, b] = fabric.choose(0)[0][0];
  fabric.route(b, a, 0.5, 1);
  Matrix matrix;
  const Attribution found = fabric.settle(matrix);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].a, b);
  EXPECT_EQ(found.findings[0].b, a);
  EXPECT_EQ(found.findings[0].rail, 1U);
}

TEST(Attribution, ACollisionThatDoesNotComeBackIsWithdrawn) {
  Matrix matrix = even(8);
  cell_of(matrix, 2, 5).value /= 2;
  const Attribution before = attribute(matrix);
  ASSERT_THAT(before.findings, SizeIs(1));
  EXPECT_FALSE(before.findings[0].confirmed);
  SyntheticSpec spec;
  spec.nodes = 8;
  spec.cv = 1e-6;
  SyntheticFabric healthy(spec);
  healthy.confirm(confirmations(before, matrix), matrix);
  for (Measurement& cell : matrix.measurements) {
    cell.size_bytes = 8;
    if (cell.confirming) cell.value = 1e11;
  }
  const Attribution after = attribute(matrix);
  EXPECT_THAT(after.findings, IsEmpty());
  ASSERT_THAT(after.withdrawn, SizeIs(1));
  EXPECT_EQ(after.withdrawn[0].part, Part::route);
}

TEST(Attribution, ADisturbedRoundOfAllNodesIsWithdrawnAndTheSlowNodeStays) {
  SyntheticSpec spec;
  spec.nodes = 8;
  SyntheticFabric fabric(spec);
  const SyntheticFabric::Matching disturbed = fabric.choose(7)[0];
  fabric.slow_node(1, 0.85);
  Matrix matrix = fabric.screen();
  for (const auto& [sender, receiver] : disturbed) cell_of(matrix, sender, receiver).value *= 0.65;
  Attribution found = attribute(matrix);
  ASSERT_THAT(found.findings, SizeIs(5)) << "every node is an end of what looks like a slow route";
  for (auto plan = confirmations(found, matrix); !plan.empty();
       plan = confirmations(found, matrix)) {
    fabric.confirm(plan, matrix);
    found = attribute(matrix);
  }
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].part, Part::node);
  EXPECT_EQ(found.findings[0].a, 1U);
  EXPECT_TRUE(found.findings[0].confirmed);
  EXPECT_THAT(found.withdrawn, SizeIs(4));
}

TEST(Attribution, RoutesThatShareALinkAreABlock) {
  Matrix matrix = even(12);
  for (const std::uint32_t a : {0U, 1U}) {
    for (const std::uint32_t b : {9U, 10U, 11U}) cell_of(matrix, a, b).value /= 2;
  }
  const Attribution found = attribute(matrix);
  ASSERT_THAT(found.findings, SizeIs(6));
  for (const Finding& finding : found.findings) {
    EXPECT_EQ(finding.part, Part::route);
    EXPECT_THAT(finding.evidence, Contains(has_all("6 of 6 ", "nodes 0, 1 to nodes 9, 10, 11")));
  }
}

TEST(Attribution, ALuckyPairBlamesNobody) {
  for (const double factor : {1.06, 1.5, 10.0}) {
    auto fabric = quiet();
    const auto [a, b] = fabric.choose(0)[2][1];
    fabric.route(a, b, factor);
    const Attribution found = attribute(fabric.screen());
    EXPECT_THAT(found.findings, IsEmpty()) << factor;
  }
}

TEST(Attribution, LatencyIsWorseWhenItIsMore) {
  SyntheticSpec spec;
  spec.metric = Metric::latency;
  spec.cv = 0.005;
  SyntheticFabric fabric(spec);
  fabric.choose(8);
  fabric.slow_node(4, 0.5);
  Matrix matrix;
  const Attribution found = fabric.settle(matrix);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].a, 4U);
  EXPECT_NEAR(found.findings[0].ratio, 2, 0.05);
  EXPECT_THAT(found.findings[0].text, HasSubstr("times the typical 2."));
  EXPECT_NEAR(found.typical[0].value, 2100, 15);
  EXPECT_NEAR(node_of(found, 4).receiver_ratio, 2, 0.05);
}

TEST(Attribution, EveryMetricAndSizeIsJudgedByItself) {
  Matrix matrix = even(8);
  scale_sender(matrix, 3, 0.8);
  Matrix second = even(8, 2000);
  for (Measurement& cell : second.measurements) {
    cell.metric = Metric::latency;
    matrix.measurements.push_back(cell);
  }
  const Attribution found = attribute(matrix);
  ASSERT_THAT(found.typical, SizeIs(2));
  EXPECT_THAT(found.nodes, SizeIs(16));
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].metric, Metric::bandwidth);
}

TEST(Attribution, WithoutAnyNoiseASmallDifferenceIsStillNone) {
  Matrix matrix = even(8);
  EXPECT_THAT(attribute(matrix).findings, IsEmpty());
  scale_sender(matrix, 1, 0.98);  // less than the 3 % that count
  EXPECT_THAT(attribute(matrix).findings, IsEmpty());
  scale_sender(matrix, 1, 0.98);
  EXPECT_THAT(attribute(matrix).findings, SizeIs(1));
}

TEST(Attribution, TwoNodesCannotBeToldApart) {
  Matrix matrix = even(2);
  matrix.measurements[0].value /= 10;
  const Attribution found = attribute(matrix);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.not_judged, Contains(HasSubstr("Two nodes")));
  EXPECT_EQ(node_of(found, 0).verdict, Verdict::not_enough_evidence);
  EXPECT_THAT(confirmations(found, matrix), IsEmpty());
}

TEST(Attribution, ThreeNodesAreTooFew) {
  Matrix matrix = even(3);
  scale_sender(matrix, 0, 0.5);
  const Attribution found = attribute(matrix);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.not_judged, Contains(HasSubstr("too few")));
}

TEST(Attribution, FourNodesAreEnough) {
  Matrix matrix = even(4);
  scale_receiver(matrix, 0, 0.5);
  const Attribution found = attribute(matrix);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].part, Part::receiver);
  EXPECT_EQ(found.findings[0].a, 0U);
}

TEST(Attribution, AnOddNumberOfNodesIsJudged) {
  auto fabric = quiet(17);
  fabric.slow_node(16, 0.9);
  Matrix matrix;
  const Attribution found = fabric.settle(matrix);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].a, 16U);
}

TEST(Attribution, ANodeWithoutCellsIsNotJudged) {
  Matrix matrix = even(8);
  matrix.nodes.push_back({8, "n8", {}, {}});
  const Attribution found = attribute(matrix);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(node_of(found, 8).verdict, Verdict::not_enough_evidence);
  EXPECT_EQ(node_of(found, 8).sender_ratio, 0);
  EXPECT_EQ(node_of(found, 0).verdict, Verdict::good);
  EXPECT_THAT(found.not_judged, Contains(HasSubstr("1 of 9 nodes have fewer than 3 partners")));
}

TEST(Attribution, ANodeWithTwoCellsIsNotJudgedEither) {
  Matrix matrix = even(9);
  std::erase_if(matrix.measurements, [](const Measurement& cell) {
    return (cell.sender == 8 && cell.receiver > 1) || (cell.receiver == 8 && cell.sender > 1);
  });
  scale_sender(matrix, 8, 0.1);
  const Attribution found = attribute(matrix);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(node_of(found, 8).verdict, Verdict::not_enough_evidence);
}

TEST(Attribution, AnEmptyMatrixSaysNothing) {
  EXPECT_THAT(attribute(Matrix{}).findings, IsEmpty());
  EXPECT_THAT(attribute(matrix_of(8)).nodes, IsEmpty());
}

TEST(Attribution, WhenEverythingFailedThatIsSaid) {
  Matrix matrix = even(8);
  for (Measurement& cell : matrix.measurements) fail(cell, "no route to host");
  const Attribution found = attribute(matrix);
  EXPECT_THAT(found.not_judged, Contains(HasSubstr("no measurement gave a value")));
  EXPECT_THAT(found.not_judged,
              Contains(has_all("56 of 56 measurements failed", "no route to host")));
  for (Measurement& cell : matrix.measurements) fail(cell, "no route. Ask the router.");
  EXPECT_THAT(attribute(matrix).not_judged,
              Contains(EndsWith("first error: no route. Ask the router.")));
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(node_of(found, 3).verdict, Verdict::failing);
  EXPECT_EQ(found.typical[0].failed, 56U);
  EXPECT_EQ(found.typical[0].value, 0);
}

TEST(Attribution, ANodeWhoseMeasurementsFailIsFailingAndItsPartnersAreNot) {
  Matrix matrix = even(8);
  for (Measurement& cell : matrix.measurements) {
    if (cell.sender == 6) fail(cell, "transport retry counter exceeded");
  }
  const Attribution found = attribute(matrix);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].part, Part::sender);
  EXPECT_EQ(found.findings[0].a, 6U);
  EXPECT_EQ(found.findings[0].ratio, 0);
  EXPECT_TRUE(found.findings[0].confirmed);
  EXPECT_THAT(found.findings[0].evidence,
              ElementsAre("7 of 7 measurements failed, with 7 partners",
                          "first error: transport retry counter exceeded"));
  EXPECT_EQ(node_of(found, 6).verdict, Verdict::failing);
  EXPECT_EQ(node_of(found, 0).verdict, Verdict::good);
}

TEST(Attribution, OneFailedPairIsARoute) {
  Matrix matrix = even(8);
  fail(cell_of(matrix, 1, 4), "timed out");
  const Attribution found = attribute(matrix);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].part, Part::route);
  EXPECT_EQ(found.findings[0].b, 4U);
  EXPECT_FALSE(found.findings[0].confirmed);
}

TEST(Attribution, WhatALostNodeTookWithItBlamesNobody) {
  Matrix matrix = even(8);
  for (Measurement& cell : matrix.measurements) {
    if (cell.sender == 6 || cell.receiver == 6) fail(cell, "node 6 is lost");
  }
  matrix.lost.push_back({6, 0, "no answer within 10 s"});
  const Attribution found = attribute(matrix);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(node_of(found, 6).verdict, Verdict::lost);
  EXPECT_EQ(node_of(found, 7).verdict, Verdict::good);
}

TEST(Attribution, NoMajorityIsSaidAndNobodyIsCalledSlow) {
  for (const Combination combination : {Combination::product, Combination::slowest}) {
    SyntheticSpec spec;
    spec.nodes = 32;
    spec.combination = combination;
    SyntheticFabric fabric(spec);
    fabric.choose(8);
    for (std::uint32_t node = 0; node < 16; ++node) fabric.slow_node(node, 0.8);
    Matrix matrix;
    const Attribution found = fabric.settle(matrix);
    EXPECT_THAT(found.findings, IsEmpty());
    EXPECT_THAT(found.not_judged, Contains(ContainsRegex("1[5-9] of 32 nodes are at 0.[78]")));
    EXPECT_THAT(found.not_judged, Contains(HasSubstr("no majority")));
    EXPECT_EQ(node_of(found, 20).verdict, Verdict::ambiguous);
  }
}

TEST(Attribution, AQuarterOfTheNodesSlowIsStillAMinority) {
  SyntheticSpec spec;
  spec.nodes = 64;
  SyntheticFabric fabric(spec);
  fabric.choose(8);
  for (std::uint32_t node = 0; node < 16; ++node) fabric.slow_node(node, 0.8);
  Matrix matrix;
  const Attribution found = fabric.settle(matrix);
  EXPECT_THAT(found.findings, SizeIs(16));
  for (const Finding& finding : found.findings) {
    EXPECT_EQ(finding.part, Part::node);
    EXPECT_LT(finding.a, 16U);
    EXPECT_TRUE(finding.confirmed);
  }
}

TEST(Attribution, DistanceIsNotAThousandBadRoutes) {
  Matrix matrix = even(12);
  for (Measurement& cell : matrix.measurements) {
    if ((cell.sender + cell.receiver) % 5 == 0) cell.value *= 0.7;
  }
  std::vector<Measurement> again = matrix.measurements;
  for (Measurement& cell : again) cell.confirming = true;
  matrix.measurements.insert(matrix.measurements.end(), again.begin(), again.end());
  const Attribution found = attribute(matrix);
  EXPECT_THAT(found.not_judged, Contains(HasSubstr("too many for bad routes")));
}

TEST(Attribution, PatternsThatShareAnEndAreLeftOut) {
  Matrix matrix = even(8);
  Measurement incast = matrix.measurements.front();
  incast.pattern = "many-to-one";
  incast.value /= 7;
  for (int i = 0; i < 7; ++i) matrix.measurements.push_back(incast);
  const Attribution found = attribute(matrix);
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.not_judged, Contains(HasSubstr("7 measurements of one-to-many")));
}

TEST(Attribution, OneRailIsADoubt) {
  EXPECT_THAT(attribute(even(8)).not_judged, Contains(HasSubstr("One rail")));
}

TEST(Attribution, RefusesWhatNoMeasurementCanBe) {
  for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    Matrix matrix = even(4);
    matrix.measurements[3].value = value;
    EXPECT_THAT(rdmabench::complaint([&] { attribute(matrix); }, Fault::usage),
                HasSubstr("measurement 3"));
  }
  Matrix outside = even(4);
  outside.measurements[0].sender = 4;
  EXPECT_THROW(attribute(outside), Error);
  Matrix self = even(4);
  self.measurements[0].receiver = self.measurements[0].sender;
  EXPECT_THROW(attribute(self), Error);
  Matrix rail = even(4);
  rail.measurements[0].rail = kMaxRails;
  EXPECT_THROW(attribute(rail), Error);
}

TEST(Attribution, EachFindingHasOneAction) {
  const auto action = [](Part part, std::optional<std::uint32_t> rail = {}, double ratio = 0.5) {
    Finding finding;
    finding.part = part;
    finding.rail = rail;
    finding.ratio = ratio;
    return action_of(finding);
  };
  EXPECT_EQ(action(Part::node), "run doctor");
  EXPECT_EQ(action(Part::node, 1), "replace cable");
  EXPECT_EQ(action(Part::node, 1, 0), "run doctor");
  EXPECT_EQ(action(Part::route, {}, 0), "run doctor");
  EXPECT_EQ(action(Part::cable), "replace cable");
  EXPECT_EQ(action(Part::link), "replace cable");
  EXPECT_EQ(action(Part::switch_point), "ask vendor");
  for (const Part part : {Part::sender, Part::receiver, Part::rail, Part::route}) {
    EXPECT_EQ(action(part), "change setting") << name(part);
    Attribution verdict;
    verdict.findings.emplace_back().part = part;
    EXPECT_THAT(verdict_record({}, verdict), HasSubstr(R"("action":"change setting")"));
  }
}

TEST(AttributionJson, HasFindingsAndVerdictsInOneLine) {
  auto fabric = quiet(16, 2);
  fabric.slow_node(3, 0.8, 1);
  const auto [a, b] = fabric.choose(0)[0][0];
  fabric.route(a, b, 0.5);
  Matrix matrix;
  const Attribution found = fabric.settle(matrix);
  const std::string text = verdict_record(matrix, found);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["findings"].size(), found.findings.size());
  EXPECT_EQ(json["nodes"][0]["verdict"], "good");
  EXPECT_TRUE(json["findings"][0]["confirmed"].get<bool>());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(AttributionJson, ReplacesBytesThatAreNotUtf8) {
  Matrix matrix = even(8);
  fail(cell_of(matrix, 1, 4), "bad \xff byte");
  EXPECT_TRUE(nlohmann::json::accept(verdict_record(matrix, attribute(matrix))));
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric

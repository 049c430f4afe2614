#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "rdmabench/fabric/matrix.h"
#include "synthetic_fabric.h"

namespace rdmabench::inline v1::fabric {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

SyntheticFabric fabric_of(std::uint32_t nodes, std::uint32_t rails = 2) {
  SyntheticSpec spec;
  spec.nodes = nodes;
  spec.rails = rails;
  SyntheticFabric fabric(spec);
  fabric.choose(8);
  return fabric;
}

std::map<std::uint32_t, std::set<Pair>> pairs_by_round(const std::vector<Confirmation>& plan) {
  std::map<std::uint32_t, std::set<Pair>> rounds;
  for (const Confirmation& item : plan) {
    rounds[item.round].insert(
        {std::min(item.sender, item.receiver), std::max(item.sender, item.receiver)});
  }
  return rounds;
}

TEST(Confirmations, NothingIsOpenOnAHealthyFabric) {
  auto fabric = fabric_of(16);
  const Matrix matrix = fabric.screen();
  Attribution attribution = attribute(matrix);
  attribution.leads.clear();
  ASSERT_THAT(attribution.findings, IsEmpty());
  EXPECT_THAT(confirmations(attribution, matrix), IsEmpty());
}

TEST(Confirmations, ASuspectMeetsADifferentGoodNodeInEachRound) {
  auto fabric = fabric_of(16);
  fabric.slow_node(3, 0.8);
  fabric.slow_node(9, 0.8);
  const Matrix matrix = fabric.screen();
  const auto plan = confirmations(attribute(matrix), matrix);
  std::set<std::uint32_t> partners;
  for (const Confirmation& item : plan) {
    EXPECT_FALSE(item.sender == 3 && item.receiver == 9) << "a suspect tests a suspect";
    if (item.sender != 3 || item.rail != 0) continue;
    EXPECT_EQ(item.purpose, Purpose::suspect);
    EXPECT_TRUE(partners.insert(item.receiver).second);
  }
  EXPECT_EQ(partners.size(), 4U);
}

TEST(Confirmations, ARoundIsAMatchingInBothDirectionsOnAllRails) {
  auto fabric = fabric_of(17, 3);
  fabric.slow_node(3, 0.8);
  const auto [a, b] = fabric.choose(0)[1][1];
  fabric.route(a, b, 0.5);
  const Matrix matrix = fabric.screen();
  const auto plan = confirmations(attribute(matrix), matrix);
  const auto rounds = pairs_by_round(plan);
  EXPECT_EQ(rounds.size(), 4U);
  std::size_t pairs = 0;
  for (const auto& [round, matching] : rounds) {
    std::set<std::uint32_t> busy;
    for (const auto& [x, y] : matching) {
      EXPECT_TRUE(busy.insert(x).second);
      EXPECT_TRUE(busy.insert(y).second);
      EXPECT_NE(x, y);
    }
    EXPECT_GE(matching.size(), 6U) << "the others keep the load";
    pairs += matching.size();
  }
  EXPECT_EQ(plan.size(), pairs * 2 * 3);
}

TEST(Confirmations, ARouteIsTestedBySquares) {
  auto fabric = fabric_of(16, 1);
  const auto [a, b] = fabric.choose(0)[0][0];
  fabric.route(a, b, 0.5);
  const Matrix matrix = fabric.screen();
  const auto plan = confirmations(attribute(matrix), matrix);
  int again = 0;
  std::set<std::uint32_t> from_a;
  std::set<std::uint32_t> to_b;
  std::set<Pair> others;
  for (const Confirmation& item : plan) {
    if (item.sender == a && item.receiver == b) {
      EXPECT_EQ(item.purpose, Purpose::again);
      ++again;
    } else if (item.sender == a) {
      from_a.insert(item.receiver);
    } else if (item.receiver == b) {
      to_b.insert(item.sender);
    } else if (item.purpose == Purpose::square && item.sender != b && item.receiver != a) {
      others.insert({item.sender, item.receiver});
    }
  }
  EXPECT_EQ(again, 3);
  EXPECT_EQ(from_a.size(), 1U);
  EXPECT_EQ(to_b.size(), 1U);
  EXPECT_THAT(others, Not(IsEmpty()));
}

TEST(Confirmations, RoundsAreBounded) {
  auto fabric = fabric_of(16);
  fabric.slow_node(3, 0.8);
  Matrix matrix = fabric.screen();
  const Attribution attribution = attribute(matrix);
  ConfirmationOptions options;
  options.rounds = 3;
  options.max_rounds = 5;
  const auto first = confirmations(attribution, matrix, options);
  EXPECT_EQ(pairs_by_round(first).size(), 3U);
  fabric.confirm(first, matrix);
  const auto second =
      confirmations(attribution, matrix, options);  // of the old attribution: still open
  EXPECT_EQ(pairs_by_round(second).size(), 2U);
  fabric.confirm(second, matrix);
  EXPECT_THAT(confirmations(attribution, matrix, options), IsEmpty());
}

TEST(Confirmations, LostNodesAreNotAsked) {
  auto fabric = fabric_of(16);
  fabric.slow_node(3, 0.8);
  Matrix matrix = fabric.screen();
  matrix.lost.push_back({5, 7, "killed"});
  for (const Confirmation& item : confirmations(attribute(matrix), matrix)) {
    EXPECT_NE(item.sender, 5U);
    EXPECT_NE(item.receiver, 5U);
  }
}

TEST(Confirmations, TheSameSeedPlansTheSame) {
  auto fabric = fabric_of(16);
  fabric.slow_node(3, 0.8);
  const Matrix matrix = fabric.screen();
  const Attribution attribution = attribute(matrix);
  const auto one = confirmations(attribution, matrix);
  const auto two = confirmations(attribution, matrix);
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].sender, two[i].sender);
    EXPECT_EQ(one[i].receiver, two[i].receiver);
  }
}

TEST(Confirmations, WithoutControlsOnlySuspectsAreMeasured) {
  auto fabric = fabric_of(64, 1);
  fabric.slow_node(3, 0.8);
  const Matrix matrix = fabric.screen();
  Attribution attribution = attribute(matrix);
  attribution.leads.clear();
  ConfirmationOptions options;
  options.controls = false;
  EXPECT_EQ(confirmations(attribution, matrix, options).size(), 4U * 2U);
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric

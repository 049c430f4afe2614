// Groups of ranks, and the search for what makes all of them slow, over a network made up.
#include "division.h"

#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> hosts(std::uint32_t nodes, std::uint32_t ranks_of_each = 1) {
  std::vector<std::string> all;
  for (std::uint32_t rank = 0; rank < nodes * ranks_of_each; ++rank) {
    all.push_back("n" + std::to_string(rank / ranks_of_each));
  }
  return all;
}

TEST(Division, PartsAreOfWholeNodes) {
  EXPECT_THAT(divide_by("halves", hosts(4, 2)).group_of, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(divide_by("halves", hosts(3)).group_of, ElementsAre(0, 0, 1));
  EXPECT_THAT(divide_by("quarters", hosts(4)).group_of, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(divide_by("nodes", hosts(2, 2)).group_of, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(divide_by("across", hosts(2, 2)).group_of, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(divide_by("halves", hosts(1, 4)).group_of, ElementsAre(0, 0, 1, 1)) << "of ranks";
}

TEST(Division, EveryTwoLabelsAreOneGroupOnce) {
  for (const std::uint32_t leaves : {2U, 3U, 4U, 7U, 8U}) {
    std::vector<std::string> labels;
    for (std::uint32_t rank = 0; rank < 2 * leaves; ++rank)
      labels.push_back(std::to_string(rank / 2));
    std::multiset<std::set<std::uint32_t>> met;
    for (const Division& round : divide_pairs("leaf-pairs", labels)) {
      for (const auto& ranks : members(round.group_of, 2 * leaves)) {
        std::set<std::uint32_t> group;
        for (const std::uint32_t rank : ranks) group.insert(rank / 2);
        EXPECT_EQ(ranks.size(), 2 * group.size()) << "a leaf is not torn apart";
        if (group.size() > 1) met.insert(group);
      }
    }
    EXPECT_EQ(met.size(), leaves * (leaves - 1) / 2);
    EXPECT_EQ(std::set(met.begin(), met.end()).size(), met.size());
  }
  EXPECT_THROW(divide_pairs("leaf-pairs", {"a", "a"}), Error);
}

TEST(Division, TooFewNodesAreAnError) {
  for (const char* how : {"halves", "quarters", "nodes", "across", "thirds"}) {
    EXPECT_THROW(divide_by(how, hosts(1)), Error) << how;
  }
}

TEST(Division, MembersOfWhatAPeerSentAreChecked) {
  EXPECT_THAT(members({}, 3), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(members({1, 0, 1}, 3), ElementsAre(ElementsAre(1), ElementsAre(0, 2)));
  EXPECT_THROW(members({0, 1}, 3), Error);
  EXPECT_THROW(members({0, 2, 2}, 3), Error) << "nobody is in group 1";
  EXPECT_THROW(members({0, 9, 0}, 3), Error);
}

TEST(Division, RangesAreShort) {
  EXPECT_EQ(range_text({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

using Ranks = std::vector<std::uint32_t>;

bool has(const Ranks& ranks, std::uint32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// What bisect() finds where a group reaches `share` of the best.
Bisected search(const std::vector<std::string>& names,
                const std::function<double(const Ranks&)>& share, std::uint32_t* passes = nullptr) {
  Run run;
  std::uint32_t noise = 1;
  const Pass pass = [&](const Division& division) {
    const std::size_t before = run.rows.size();
    for (const Ranks& ranks :
         members(division.group_of, static_cast<std::uint32_t>(names.size()))) {
      noise = noise * 1103515245 + 12345;  // up to 3 %
      Row row{.ranks = ranks, .size_bytes = 1 << 20};
      row.numbers.time = {.p50_ns = 1, .median_low_ns = 0.98, .median_high_ns = 1.02};
      if (ranks.size() > 1) {
        row.bus_bytes_per_s = 1e9 * share(ranks) * (0.97 + 0.03 * ((noise >> 16U) & 0xffU) / 255.0);
      }
      run.rows.push_back(row);
    }
    if (passes != nullptr) ++*passes;
    return std::span<const Row>(run.rows).subspan(before);
  };
  bisect(pass, names, 0.85, run);
  return *run.bisected;
}

TEST(Bisect, EverySlowNodeIsNamedAloneInAFewPasses) {
  for (const std::uint32_t nodes : {4U, 5U, 7U, 8U, 16U}) {
    for (std::uint32_t slow = 0; slow < nodes; ++slow) {
      std::uint32_t passes = 0;
      const Bisected found = search(
          hosts(nodes), [&](const Ranks& ranks) { return has(ranks, slow) ? 0.5 : 1.0; }, &passes);
      EXPECT_THAT(found.suspects, ElementsAre(ElementsAre(ElementsAre("n" + std::to_string(slow)))))
          << nodes;
      EXPECT_LE(passes, 7U) << nodes;
    }
  }
}

TEST(Bisect, TheRouteBetweenTwoNodesIsNamed) {
  for (std::uint32_t a = 0; a < 8; ++a) {
    for (std::uint32_t b = a + 1; b < 8; ++b) {
      const Bisected found = search(
          hosts(8), [&](const Ranks& ranks) { return has(ranks, a) && has(ranks, b) ? 0.3 : 1.0; });
      std::set<std::string> named;
      for (const auto& part : found.suspects.at(0)) named.insert(part.begin(), part.end());
      EXPECT_EQ(named, (std::set{"n" + std::to_string(a), "n" + std::to_string(b)}));
      EXPECT_EQ(found.suspects.size(), 1);
      EXPECT_EQ(found.suspects[0].size(), 2) << "between them";
    }
  }
}

TEST(Bisect, ANarrowUplinkIsTheBoundary) {
  const Bisected found = search(hosts(8), [](const Ranks& ranks) {
    const auto left = std::count_if(ranks.begin(), ranks.end(), [](auto rank) { return rank < 4; });
    const bool across = left > 0 && static_cast<std::size_t>(left) < ranks.size();
    return across ? 0.5 : 1.0;
  });
  EXPECT_THAT(found.suspects, ElementsAre(ElementsAre(ElementsAre("n0", "n1", "n2", "n3"),
                                                      ElementsAre("n4", "n5", "n6", "n7"))));
  EXPECT_THAT(found.text, HasSubstr("between n0, n1, n2, n3 and n4"));
}

TEST(Bisect, TwoSlowNodesAreBothNamed) {
  for (const auto& slow : {std::pair{1U, 6U}, std::pair{0U, 1U}, std::pair{4U, 7U}}) {
    const Bisected found = search(hosts(8), [&slow](const Ranks& ranks) {
      return has(ranks, slow.first) || has(ranks, slow.second) ? 0.5 : 1.0;
    });
    const auto alone = [](auto n) { return ElementsAre(ElementsAre("n" + std::to_string(n))); };
    EXPECT_THAT(found.suspects, ElementsAre(alone(slow.first), alone(slow.second)));
  }
}

TEST(Bisect, NobodyIsNamedOnAHealthyOrAnEvenlySlowNetwork) {
  for (const double share : {1.0, 0.3}) {
    const Bisected found = search(hosts(8), [share](const Ranks&) { return share; });
    EXPECT_THAT(found.suspects, IsEmpty());
    EXPECT_THAT(found.text, HasSubstr("no part of the nodes"));
  }
}

TEST(Bisect, AWideIntervalIsNotSlow) {
  collective::Run run;
  const Pass pass = [&](const Division& division) {
    const std::size_t before = run.rows.size();
    for (const Ranks& ranks : members(division.group_of, 8)) {
      Row row{.ranks = ranks, .bus_bytes_per_s = has(ranks, 2) ? 0.6e9 : 1e9};
      row.numbers.time = {.p50_ns = 1, .median_low_ns = 0.7, .median_high_ns = 1.1};
      run.rows.push_back(row);
    }
    return std::span<const Row>(run.rows).subspan(before);
  };
  bisect(pass, hosts(8), 0.85, run);
  EXPECT_THAT(run.bisected->suspects, IsEmpty());
}

TEST(Bisect, WrongResultsCountAsSlow) {
  collective::Run run;
  const Pass pass = [&](const Division& division) {
    const std::size_t before = run.rows.size();
    for (const Ranks& ranks : members(division.group_of, 4)) {
      Row row{.ranks = ranks, .bus_bytes_per_s = ranks.size() > 1 ? 1e9 : 0};
      row.numbers.time = {.p50_ns = 1, .median_low_ns = 1, .median_high_ns = 1};
      if (has(ranks, 2)) row.results.wrong_operations = 1;
      run.rows.push_back(row);
    }
    return std::span<const Row>(run.rows).subspan(before);
  };
  bisect(pass, hosts(4), 0.85, run);
  EXPECT_THAT(run.bisected->suspects, ElementsAre(ElementsAre(ElementsAre("n2"))));
}

TEST(Bisect, FewerThanFourNodesAreAnError) {
  EXPECT_THROW(search(hosts(3, 4), [](const Ranks&) { return 1.0; }), Error);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective

#include "fabric/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/nearest.h"
#include "base/refuse.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {
namespace {

using Ranks = std::vector<std::uint32_t>;

Ranks in_order(std::uint32_t count) {
  Ranks ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0U);
  return ranks;
}

/// Fisher-Yates shuffle. std::shuffle() differs between standard libraries, and a seed must give
/// the same rounds everywhere.
void shuffle(Ranks& ranks, std::mt19937_64& random) {
  for (std::size_t i = ranks.size(); i > 1; --i) std::swap(ranks[i - 1], ranks[random() % i]);
}

/// Both directions of the pairs, one after the other.
Round both_ways(const char* pattern, Step forward) {
  Step back;
  for (const Pair& pair : forward) back.push_back({pair.receiver, pair.sender});
  return {pattern, {std::move(forward), std::move(back)}};
}

/// Round `turn` of the circle method: place 0 stays and the others move on by one each round; nodes
/// at opposite places are a pair. With an odd number, the node without an opposite is idle.
Step matching(const Ranks& ranks, std::uint32_t turn, std::mt19937_64& random) {
  const auto count = static_cast<std::uint32_t>(ranks.size());
  const std::uint32_t places = count + count % 2;
  const std::uint32_t moving = places - 1;
  Step pairs;
  for (std::uint32_t i = 0; i < places / 2; ++i) {
    const std::uint32_t low = i == 0 ? moving : (turn + i) % moving;
    const std::uint32_t high = (turn + moving - i) % moving;
    if (low >= count || high >= count) continue;
    const bool turned = random() % 2 != 0;  // so that no node always sends first
    pairs.push_back({ranks[turned ? high : low], ranks[turned ? low : high]});
  }
  return pairs;
}

std::vector<Round> matchings(std::uint32_t nodes, std::uint32_t rounds, std::mt19937_64& random) {
  const std::uint32_t all = nodes - 1 + nodes % 2;
  Ranks ranks = in_order(nodes);
  Ranks turns = in_order(all);
  shuffle(ranks, random);
  shuffle(turns, random);
  if (rounds != 0 && rounds < all) turns.resize(rounds);
  std::vector<Round> found;
  for (const std::uint32_t turn : turns) {
    found.push_back(both_ways("round-robin", matching(ranks, turn, random)));
  }
  return found;
}

/// Each node in turn sends to all others (`outward`), or receives from them.
std::vector<Round> fans(bool outward, std::uint32_t nodes, std::uint32_t rounds,
                        std::mt19937_64& random) {
  Ranks hubs = in_order(nodes);
  shuffle(hubs, random);
  if (rounds != 0 && rounds < nodes) hubs.resize(rounds);
  std::vector<Round> found;
  for (const std::uint32_t hub : hubs) {
    Round round{outward ? "one-to-many" : "many-to-one", {}};
    for (std::uint32_t other = 0; other < nodes; ++other) {
      if (other == hub) continue;
      if (round.steps.empty() || round.steps.back().size() >= kMaxFan) round.steps.emplace_back();
      round.steps.back().push_back(outward ? Pair{hub, other} : Pair{other, hub});
    }
    found.push_back(std::move(round));
  }
  return found;
}

/// By rank: the launcher decides which nodes are neighbours.
std::vector<Round> bisections(std::uint32_t nodes, std::uint32_t rounds) {
  const std::uint32_t half = nodes / 2;
  std::vector<Round> found;
  for (std::uint32_t shift = 0; shift < std::clamp(rounds, 1U, half); ++shift) {
    Step pairs;
    for (std::uint32_t i = 0; i < half; ++i) pairs.push_back({i, half + (i + shift) % half});
    found.push_back(both_ways("bisection", std::move(pairs)));
  }
  return found;
}

}  // namespace

Pattern parse_pattern(std::string_view text) {
  return value_of_word<Pattern>("`pattern`", text, kPatternNames);
}

std::vector<Round> schedule(Pattern pattern, std::uint32_t nodes, std::uint32_t rounds,
                            std::uint64_t seed) {
  refuse_if(nodes < 2 || nodes > kMaxNodes, fmt::format("invalid number of nodes {}", nodes),
            fmt::format("It may have 2 to {}: start one process on each.", kMaxNodes));
  std::mt19937_64 random(seed);
  switch (pattern) {
    case Pattern::full:
    case Pattern::random:
      return matchings(nodes, rounds, random);
    case Pattern::one_to_many:
      return fans(true, nodes, rounds, random);
    case Pattern::many_to_one:
      return fans(false, nodes, rounds, random);
    case Pattern::bisection:
      return bisections(nodes, rounds);
  }
  return {};
}

}  // namespace rdmabench::inline v1::fabric

#include "planted_faults.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace rdmabench::inline v1::fabric {
namespace {

constexpr double kSlow = 0.9;
constexpr double kHalved = 0.5;
constexpr double kLucky = 1.5;
constexpr std::uint32_t kManyNodes = 8;

using Fault = std::tuple<Part, std::uint32_t, std::optional<std::uint32_t>>;  // node or rail
using Pair = std::pair<std::uint32_t, std::uint32_t>;

struct Planted {
  std::set<Fault> faults;
  std::set<std::uint32_t> nodes;
  std::set<Pair> routes;  // ordered
};

/// One in 128, and at least one.
std::uint32_t some(std::uint32_t nodes) {
  return std::max(1U, nodes / 128);
}

class Planter {
 public:
  Planter(SyntheticFabric& fabric, const SyntheticSpec& spec, std::uint32_t rounds)
      : fabric_(fabric), spec_(spec), matchings_(fabric.choose(rounds)) {}

  Planted plant(Scenario scenario) {
    const bool all = scenario == Scenario::all;
    const std::uint32_t count = some(spec_.nodes);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (all || scenario == Scenario::slow_node) slow_node({});
      if (all || scenario == Scenario::one_way) one_way();
      if ((all || scenario == Scenario::slow_port) && spec_.rails > 1) slow_node(any(spec_.rails));
    }
    if ((all || scenario == Scenario::slow_rail) && spec_.rails > 1) {
      const std::uint32_t rail = any(spec_.rails);
      fabric_.slow_rail(rail, kSlow);
      planted_.faults.insert({Part::rail, rail, rail});
    }
    if (all || scenario == Scenario::bad_route) {
      bad_route();
      if (spec_.nodes >= kManyNodes) bad_route();
    }
    if (all || scenario == Scenario::lucky_pair) {
      const auto [a, b] = measured_pair();
      fabric_.route(a, b, kLucky);
    }
    return std::move(planted_);
  }

 private:
  std::uint32_t any(std::uint32_t count) {
    return std::uniform_int_distribution<std::uint32_t>(0, count - 1)(fabric_.random());
  }

  std::uint32_t new_node() {
    for (;;) {
      const std::uint32_t node = any(spec_.nodes);
      if (planted_.nodes.insert(node).second) return node;
    }
  }

  Pair measured_pair() {
    const auto& matching = matchings_[any(static_cast<std::uint32_t>(matchings_.size()))];
    return matching[any(static_cast<std::uint32_t>(matching.size()))];
  }

  void slow_node(std::optional<std::uint32_t> rail) {
    const std::uint32_t node = new_node();
    fabric_.slow_node(node, kSlow, rail);
    planted_.faults.insert({Part::node, node, rail});
  }

  void one_way() {
    const std::uint32_t node = new_node();
    const bool sends = any(2) == 0;
    if (sends) {
      fabric_.slow_sender(node, kSlow);
    } else {
      fabric_.slow_receiver(node, kSlow);
    }
    planted_.faults.insert({sends ? Part::sender : Part::receiver, node, {}});
  }

  /// In a small fabric one direction: 4 slow cells of 24 leave the noise unknown.
  void bad_route() {
    const auto [a, b] = measured_pair();
    if (!planted_.routes.insert({a, b}).second) return;
    fabric_.route(a, b, kHalved);
    if (spec_.nodes < kManyNodes) return;
    planted_.routes.insert({b, a});
    fabric_.route(b, a, kHalved);
  }

  SyntheticFabric& fabric_;
  const SyntheticSpec& spec_;
  const std::vector<SyntheticFabric::Matching>& matchings_;
  Planted planted_;
};

Tally judge(const Attribution& attribution, const Planted& planted, const SyntheticSpec& spec) {
  Tally tally;
  tally.runs = 1;
  std::set<Fault> found;
  std::set<Pair> routes;
  std::set<std::uint32_t> flagged;
  std::set<std::uint32_t> unconfirmed;
  for (const Finding& finding : attribution.findings) {
    if (finding.part == Part::route) {
      if (!finding.confirmed) continue;
      if (planted.routes.count({finding.a, *finding.b}) != 0) {
        routes.insert({finding.a, *finding.b});
      } else {
        ++tally.wrong_routes;
      }
    } else if (finding.part == Part::rail) {
      if (!finding.confirmed) continue;
      const Fault fault{Part::rail, finding.a, finding.rail};
      if (planted.faults.count(fault) != 0) {
        found.insert(fault);
      } else {
        ++tally.wrong_rails;
      }
    } else {
      const Fault fault{finding.part, finding.a, finding.rail};
      if (finding.confirmed && planted.faults.count(fault) != 0) found.insert(fault);
      if (planted.nodes.count(finding.a) != 0) continue;
      (finding.confirmed ? flagged : unconfirmed).insert(finding.a);
    }
  }
  tally.planted = static_cast<std::uint32_t>(planted.faults.size());
  tally.found = static_cast<std::uint32_t>(found.size());
  tally.perfect = found.size() == planted.faults.size() ? 1 : 0;
  tally.innocent = spec.nodes - planted.nodes.size();
  tally.flagged = flagged.size();
  tally.runs_with_flagged = flagged.empty() ? 0 : 1;
  tally.unconfirmed = unconfirmed.size();
  tally.runs_with_wrong_route = tally.wrong_routes > 0 ? 1 : 0;
  tally.routes = static_cast<std::uint32_t>(planted.routes.size());
  tally.routes_found = static_cast<std::uint32_t>(routes.size());
  return tally;
}

}  // namespace

std::string_view name(Scenario scenario) noexcept {
  constexpr std::array<std::string_view, 8> kNames{
      "nothing",   "slow node, both ways", "slow node, one way",     "slow node, one rail",
      "slow rail", "bad routes",           "one lucky pair (+50 %)", "all of these at once"};
  return kNames[static_cast<std::size_t>(scenario)];
}

void Tally::add(const Tally& other) {
  runs += other.runs;
  planted += other.planted;
  found += other.found;
  perfect += other.perfect;
  innocent += other.innocent;
  flagged += other.flagged;
  runs_with_flagged += other.runs_with_flagged;
  unconfirmed += other.unconfirmed;
  wrong_rails += other.wrong_rails;
  routes += other.routes;
  routes_found += other.routes_found;
  wrong_routes += other.wrong_routes;
  runs_with_wrong_route += other.runs_with_wrong_route;
  confirm_rounds += other.confirm_rounds;
}

Tally run_scenario(Scenario scenario, const SyntheticSpec& spec, std::uint32_t rounds) {
  SyntheticFabric fabric(spec);
  Planter planter(fabric, spec, rounds);
  const Planted planted = planter.plant(scenario);
  Matrix matrix;
  const Attribution attribution = fabric.settle(matrix);
  Tally tally = judge(attribution, planted, spec);
  std::set<std::uint32_t> confirming;
  for (const Measurement& cell : matrix.measurements) {
    if (cell.confirming) confirming.insert(cell.round);
  }
  tally.confirm_rounds = confirming.size();
  return tally;
}

}  // namespace rdmabench::inline v1::fabric

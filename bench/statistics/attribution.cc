// How often fabric's attribution is right: synthetic fabrics of two rails with planted faults.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "planted_faults.h"
#include "studies.h"

namespace rdmabench::inline v1::statistics {
namespace {

using namespace fabric;

struct Size {
  std::uint32_t nodes;
  std::uint32_t rounds;
};
constexpr Size kSizes[] = {{4, 3}, {8, 5}, {16, 5}, {16, 8}, {128, 5}, {128, 8}, {1024, 8}};
constexpr std::uint32_t kAllTrials = 16;  // larger fabrics have so much fewer of them

struct Kind {
  double cv;
  double spread;
  double dips;
  Noise noise;
  Combination combination;
  double nodes_found;  // at least, from kFewest nodes on
  std::string_view name;
};
constexpr Kind kKinds[] = {
    {0.01, 0, 0, Noise::normal, Combination::product, 0.99, "1 %"},
    {0.01, 0, 0, Noise::skewed, Combination::product, 0.99, "1 %, skewed"},
    {0.03, 0, 0, Noise::normal, Combination::product, 0.95, "3 %"},
    {0.01, 0.01, 0, Noise::normal, Combination::product, 0.95,
     "1 %, and 1 % between healthy nodes"},
    {0.01, 0.02, 0, Noise::normal, Combination::product, 0, "1 %, and 2 % between healthy nodes"},
    {0.01, 0, 0, Noise::normal, Combination::slowest, 0.99, "1 %, slowest part counts"},
    {0.01, 0, 0.03, Noise::normal, Combination::product, 0.95, "1 %, 3 % of cells dip"},
    {0.01, 0, 0.1, Noise::normal, Combination::product, 0.9, "1 %, 10 % of cells dip"},
};
constexpr std::uint32_t kFewest = 8;

/// Whether the scenario can be seen there.
bool makes_sense(Scenario scenario, const Kind& kind, const Size& size) {
  if (scenario != Scenario::all) return true;
  // A node at 0.9 on a rail at 0.9 is no slower than the rail.
  return size.nodes > kFewest && kind.combination == Combination::product;
}

}  // namespace

std::vector<Outcome> attribution(std::uint64_t trials, std::uint64_t seed) {
  std::vector<Outcome> outcomes;
  for (const Kind& kind : kKinds) {
    for (const Size& size : kSizes) {
      const std::uint64_t runs = trials * kAllTrials / std::max(kAllTrials, size.nodes);
      if (runs == 0) continue;
      SyntheticSpec spec;
      spec.nodes = size.nodes;
      spec.rails = 2;
      spec.cv = kind.cv;
      spec.spread = kind.spread;
      spec.dips = kind.dips;
      spec.noise = kind.noise;
      spec.combination = kind.combination;
      Tally faults;
      Tally all;
      for (const Scenario scenario : kScenarios) {
        if (!makes_sense(scenario, kind, size)) continue;
        for (std::uint64_t run = 0; run < runs; ++run) {
          spec.seed = seed + run;
          const Tally tally = run_scenario(scenario, spec, size.rounds);
          if (tally.planted > 0) faults.add(tally);
          all.add(tally);
        }
      }
      const auto add = [&](std::string_view quantity, std::uint64_t part, std::uint64_t whole,
                           double at_least, double at_most) {
        outcomes.push_back({.setting = fmt::format("noise {}; {} nodes, {} rounds", kind.name,
                                                   size.nodes, size.rounds),
                            .quantity = std::string(quantity),
                            .rate = rate(part, whole),
                            .at_least = at_least,
                            .at_most = at_most,
                            .trials = whole});
      };
      const bool small = size.nodes < kFewest;
      add("runs with all planted nodes and rails confirmed", faults.perfect, faults.runs,
          small ? 0 : kind.nodes_found, 1);
      add("innocent nodes confirmed", all.flagged, all.innocent, 0, 0.02);
      add("planted routes confirmed", all.routes_found, all.routes, 0.95, 1);
      add("runs with an innocent route confirmed", all.runs_with_wrong_route, all.runs, 0, 0.01);
    }
  }
  return outcomes;
}

}  // namespace rdmabench::inline v1::statistics

// How often attribution is right on synthetic fabrics: the table of docs/attribution.md, in
// Markdown.
//   fabric_simulation [SEEDS [LARGEST_NODES [COLUMN]]]    COLUMN: one kind of noise, from 0
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "planted_faults.h"

namespace {

using namespace rdmabench::fabric;

struct Column {
  double cv;
  double spread;
  Noise noise;
  Meeting meeting;
  const char* name;
};
constexpr Column kColumns[] = {
    {0.01, 0, Noise::normal, Meeting::product, "1 %"},
    {0.01, 0, Noise::skewed, Meeting::product, "1 %, skewed"},
    {0.03, 0, Noise::normal, Meeting::product, "3 %"},
    {0.01, 0.01, Noise::normal, Meeting::product, "1 %, and 1 % between healthy nodes"},
    {0.01, 0, Noise::normal, Meeting::slowest, "1 %, slowest part counts"},
};

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.4g} %", 100 * part / whole) : "-";
}

void row(Scenario scenario, const SyntheticSpec& spec, const Column& column, std::uint32_t rounds,
         std::uint32_t seeds) {
  Tally tally;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    SyntheticSpec one = spec;
    one.seed = seed;
    tally.add(run_scenario(scenario, one, rounds));
  }
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1f} |\n", column.name,
             name(scenario), spec.nodes, rounds,
             tally.planted > 0 ? percent(tally.perfect, tally.runs) : "-",
             percent(static_cast<double>(tally.flagged), static_cast<double>(tally.innocent)),
             percent(tally.runs_with_flagged, tally.runs),
             percent(tally.routes_found, tally.routes), tally.wrong_routes + tally.wrong_rails,
             static_cast<double>(tally.confirm_rounds) / tally.runs);
  std::fflush(stdout);
}

/// The largest matrix that is promised to be judged in well under a second.
void time_one() {
  SyntheticSpec spec;
  spec.nodes = 1024;
  spec.rails = 8;
  SyntheticFabric fabric(spec);
  fabric.choose(8);
  fabric.slow_node(7, 0.9);
  const Matrix matrix = fabric.screen();
  const auto begin = std::chrono::steady_clock::now();
  const Attribution attribution = attribute(matrix);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  fmt::print("attribute() of {} cells (1024 nodes, 8 rounds, 2 directions, 8 rails): {:.0f} ms\n\n",
             matrix.measurements.size(), elapsed.count() * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  const auto seeds = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 100);
  const auto largest = static_cast<std::uint32_t>(argc > 2 ? std::atoi(argv[2]) : 1024);
  const int only = argc > 3 ? std::atoi(argv[3]) : -1;
  time_one();
  fmt::print(
      "| noise | planted | nodes | rounds | runs with all found | innocent nodes flagged | "
      "runs that flag one | measured bad routes found | wrong routes and rails | confirming "
      "rounds |\n|---|---|---|---|---|---|---|---|---|---|\n");
  int index = 0;
  for (const Column& column : kColumns) {
    if (const int now = index++; only >= 0 && now != only) continue;
    for (const Scenario scenario : kScenarios) {
      // A node at 0.9 on a rail at 0.9 is no slower than the rail: what was planted is not there.
      if (column.meeting == Meeting::slowest && scenario == Scenario::all) continue;
      for (const std::uint32_t nodes : {16U, 128U, 1024U}) {
        if (nodes > largest) continue;
        for (const std::uint32_t rounds : {5U, 8U}) {
          SyntheticSpec spec;
          spec.nodes = nodes;
          spec.rails = 2;
          spec.cv = column.cv;
          spec.spread = column.spread;
          spec.noise = column.noise;
          spec.meeting = column.meeting;
          row(scenario, spec, column, rounds, seeds);
        }
      }
    }
  }
  return 0;
}

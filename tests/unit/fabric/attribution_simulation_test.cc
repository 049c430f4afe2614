// The promise of docs/attribution.md, with fewer seeds and sizes than its table.
#include <gtest/gtest.h>

#include "planted_faults.h"

namespace rdmabench::inline v1::fabric {
namespace {

struct Setting {
  std::uint32_t nodes;
  std::uint32_t rounds;
  Noise noise;
  Combination combination;
};

class PlantedFaults : public ::testing::TestWithParam<Setting> {};

TEST_P(PlantedFaults, AreFoundAndTheInnocentAreNotFlagged) {
  constexpr std::uint32_t kSeeds = RDMABENCH_SEEDS;
  const Setting& setting = GetParam();
  for (const Scenario scenario : kScenarios) {
    if (setting.combination == Combination::slowest && scenario == Scenario::all) continue;
    Tally tally;
    for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
      SyntheticSpec spec;
      spec.nodes = setting.nodes;
      spec.rails = 2;
      spec.noise = setting.noise;
      spec.combination = setting.combination;
      spec.seed = seed;
      tally.add(run_scenario(scenario, spec, setting.rounds));
    }
    EXPECT_EQ(tally.perfect, kSeeds) << name(scenario);
    EXPECT_EQ(tally.flagged, 0U) << name(scenario);
    EXPECT_EQ(tally.wrong_rails, 0U) << name(scenario);
    EXPECT_GE(tally.routes_found * 100, tally.routes * 95) << name(scenario);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PlantedFaults,
                         ::testing::Values(Setting{16, 5, Noise::normal, Combination::product},
                                           Setting{16, 8, Noise::skewed, Combination::product},
                                           Setting{16, 8, Noise::normal, Combination::slowest},
                                           Setting{128, 5, Noise::skewed, Combination::product},
                                           Setting{128, 8, Noise::normal, Combination::product}));

TEST(PlantedFaultsAtScale, AThousandNodes) {
  SyntheticSpec spec;
  spec.nodes = 1024;
  spec.rails = 2;
  const Tally tally = run_scenario(Scenario::all, spec, 5);
  EXPECT_EQ(tally.perfect, 1U);
  EXPECT_EQ(tally.flagged, 0U);
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric

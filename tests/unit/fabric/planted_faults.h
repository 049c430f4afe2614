// The scenarios of docs/attribution.md: which faults are planted in a synthetic fabric, and how
// much of them is found.
#pragma once

#include <cstdint>
#include <string_view>

#include "synthetic_fabric.h"

namespace rdmabench::inline v1::fabric {

enum class Scenario : std::uint8_t {
  none,
  slow_node,
  one_way,
  slow_port,  ///< a node on one of its rails
  slow_rail,
  bad_route,
  lucky_pair,
  all,
};
inline constexpr Scenario kScenarios[] = {
    Scenario::none,      Scenario::slow_node, Scenario::one_way,    Scenario::slow_port,
    Scenario::slow_rail, Scenario::bad_route, Scenario::lucky_pair, Scenario::all};
std::string_view name(Scenario scenario) noexcept;

struct Tally {
  std::uint32_t runs = 0;
  std::uint32_t planted = 0;  ///< nodes (with direction and rail) and rails
  std::uint32_t found = 0;    ///< exactly as planted, confirmed
  std::uint32_t perfect = 0;  ///< runs in which all of them were
  std::uint64_t innocent = 0;
  std::uint64_t flagged = 0;  ///< innocent nodes with any confirmed finding of their own
  std::uint32_t runs_with_flagged = 0;
  std::uint64_t unconfirmed = 0;  ///< innocent nodes in findings that no test decided
  std::uint32_t wrong_rails = 0;
  std::uint32_t routes = 0;  ///< planted and measured, each direction by itself
  std::uint32_t routes_found = 0;
  std::uint32_t wrong_routes = 0;  ///< confirmed though not planted
  std::uint32_t runs_with_wrong_route = 0;
  std::uint64_t confirm_rounds = 0;  ///< over all runs

  void add(const Tally& other);
};

/// One run: plants, screens with so many rounds, confirms, and counts.
Tally run_scenario(Scenario scenario, const SyntheticSpec& spec, std::uint32_t rounds);

}  // namespace rdmabench::inline v1::fabric

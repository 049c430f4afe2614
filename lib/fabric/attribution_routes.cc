// Rails and routes: what stands out after the effects of the nodes are removed.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "attribution_judge.h"
#include "measure/ranks.h"

namespace rdmabench::fabric {
namespace {

constexpr std::uint32_t kFewestRailNodes = 4;
constexpr double kSpreadOfMiddle = 1.2533;  // standard error of a median over that of a mean
constexpr std::size_t kFewestRailPairs = 3;
constexpr double kFewRoutes = 4;  // so many may be bad in a small matrix, whatever their share
constexpr std::uint32_t kFewestLegs = 2;

using RouteKey = std::array<std::uint32_t, 3>;  // sender, receiver, rail

std::uint32_t nodes_on(const Slice& slice, const Fit& fit, std::uint32_t rail) {
  std::uint32_t count = 0;
  for (std::uint32_t node = 0; node < slice.nodes; ++node) {
    const std::size_t port = slice.port(rail, node);
    const std::uint32_t partners =
        std::max(fit.sending[port].partners, fit.receiving[port].partners);
    if (partners >= kMinPartners) ++count;
  }
  return count;
}

}  // namespace

std::vector<RailSuspect> suspect_rails(const Slice& slice, const Fit& fit) {
  std::vector<std::uint32_t> rails;
  for (std::uint32_t rail = 0; rail < slice.rails; ++rail) {
    if (nodes_on(slice, fit, rail) >= kFewestRailNodes) rails.push_back(rail);
  }
  std::vector<RailSuspect> found;
  if (rails.size() < 2) return found;
  // The reference of two rails is the faster one, of more the (upper) median.
  std::sort(rails.begin(), rails.end(),
            [&](std::uint32_t a, std::uint32_t b) { return fit.typical[a] < fit.typical[b]; });
  const std::uint32_t reference = rails[rails.size() / 2];
  for (const std::uint32_t rail : rails) {
    const double effect = fit.typical[rail] - fit.typical[reference];
    // The typical value of a rail is the median over its senders and receivers.
    const double cells = std::min(fit.cells[rail], fit.cells[reference]);
    const double error = 2 * kSpreadOfMiddle * fit.port_scale / std::sqrt(cells);
    const double score = score_of(effect, error);
    if (effect > least(kMinEffect) || score < kLeadScore) continue;
    found.push_back({rail, reference, effect, score, State::open, {}});
  }
  return found;
}

void test_rails(const Slice& slice, const Fit& fit, std::vector<RailSuspect>& suspects) {
  if (suspects.empty()) return;
  // The same pair in the same round on both rails, so that the effect of the pair cancels.
  std::map<std::pair<std::uint32_t, RouteKey>, double> cells;  // by round, pair and rail
  for (const Cell& cell : slice.confirming) {
    cells[{cell.round, {cell.sender, cell.receiver, cell.rail}}] =
        cell.y - fit.predicted(slice, cell) + fit.typical[cell.rail];
  }
  for (RailSuspect& suspect : suspects) {
    std::vector<double> differences;
    for (const auto& [key, y] : cells) {
      const auto& [sender, receiver, rail] = key.second;
      if (rail != suspect.rail) continue;
      const auto same = cells.find({key.first, {sender, receiver, suspect.reference}});
      if (same != cells.end()) differences.push_back(y - same->second);
    }
    if (differences.size() < kFewestRailPairs) continue;
    Test& test = suspect.test;
    test.cells = static_cast<std::uint32_t>(differences.size());
    test.effect = measure::middle(differences);
    test.score =
        score_of(test.effect, kSpreadOfMiddle * std::sqrt(2.0) * fit.sigma / std::sqrt(test.cells));
    const bool borne_out = test.effect <= least(kMinEffect) && test.effect <= suspect.effect / 2 &&
                           test.score >= kConfirmScore && suspect.score >= kLeadScore;
    suspect.state = borne_out ? State::confirmed : State::withdrawn;
  }
}

std::vector<RouteSuspect> suspect_routes(const Slice& slice, const Fit& fit,
                                         std::size_t& too_many) {
  too_many = 0;
  std::size_t judged = 0;
  std::vector<RouteSuspect> found;
  for (std::size_t i = 0; i < slice.screening.size(); ++i) {
    const Cell& cell = slice.screening[i];
    const Effect& sends = fit.sending[slice.port(cell.rail, cell.sender)];
    const Effect& receives = fit.receiving[slice.port(cell.rail, cell.receiver)];
    if (std::min(sends.partners, receives.partners) < kMinPartners) continue;
    ++judged;
    RouteSuspect route{cell.sender, cell.receiver, cell.rail};
    route.effect = fit.residuals[i];
    route.score = score_of(route.effect, fit.sigma);
    if (route.effect > least(kRouteEffect) || route.score < kScore) continue;
    found.push_back(route);
  }
  const double most = std::max(kFewRoutes, kMaxRouteShare * static_cast<double>(judged));
  if (static_cast<double>(found.size()) > most) {
    too_many = found.size();
    found.clear();
  }
  return found;
}

void test_routes(const Slice& slice, const Fit& fit, std::vector<RouteSuspect>& suspects) {
  std::map<RouteKey, const RouteSuspect*> accused;
  for (const RouteSuspect& route : suspects) {
    accused[{route.sender, route.receiver, route.rail}] = &route;
  }
  // From the end's other cells on that rail, without suspect pairs.
  std::map<RouteKey, std::vector<double>> again;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> from;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> to;
  for (const Cell& cell : slice.confirming) {
    const RouteKey key{cell.sender, cell.receiver, cell.rail};
    const double residual = cell.y - fit.predicted(slice, cell);
    if (accused.count(key) != 0) {
      again[key].push_back(residual);
    } else {
      from[{cell.sender, cell.rail}].push_back(residual);
      to[{cell.receiver, cell.rail}].push_back(residual);
    }
  }
  for (RouteSuspect& route : suspects) {
    const auto same = again.find({route.sender, route.receiver, route.rail});
    if (same == again.end()) continue;
    Test& test = route.test;
    test.cells = static_cast<std::uint32_t>(same->second.size());
    test.effect = measure::middle(same->second);
    test.score = score_of(test.effect, fit.sigma / std::sqrt(test.cells));
    const auto sends = from.find({route.sender, route.rail});
    const auto receives = to.find({route.receiver, route.rail});
    if (sends != from.end()) {
      ++route.legs;
      route.from = measure::middle(sends->second);
    }
    if (receives != to.end()) {
      ++route.legs;
      route.to = measure::middle(receives->second);
    }
    const bool slow_again = test.effect <= least(kRouteEffect) && test.effect <= route.effect / 2 &&
                            test.score >= kConfirmScore;
    const bool clean_ends = std::min(route.from, route.to) > route.effect / 2;
    if (!slow_again || !clean_ends) {
      route.state = State::withdrawn;
    } else if (route.legs == kFewestLegs) {
      route.state = State::confirmed;
    }
  }
}

}  // namespace rdmabench::fabric

// Rails and routes: what stands out after the effects of the nodes are removed.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "attribution_judge.h"
#include "measure/ranks.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::uint32_t kFewestRailNodes = 4;
constexpr double kSpreadOfMiddle = 1.2533;  // standard error of a median over that of a mean
constexpr std::size_t kFewestRailPairs = 3;
constexpr double kFewRoutes = 8;  // so many may be bad in a small matrix, whatever their share
constexpr std::uint32_t kFewestLegs = 2;
constexpr std::uint32_t kFewestRepeats = 2;
constexpr double kMaxChance = 0.01;

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

std::vector<RouteSuspect> suspect_routes(const Slice& slice, const Fit& fit) {
  std::vector<RouteSuspect> found;
  // Dips among few cells look like noise: then a slow cell is measured again whatever its score.
  const bool noise_hidden = has_few_cells(slice) && fit.sigma > kRouteEffect / 2;
  for (std::size_t i = 0; i < slice.screening.size(); ++i) {
    const Cell& cell = slice.screening[i];
    const Effect& sends = fit.sending[slice.port(cell.rail, cell.sender)];
    const Effect& receives = fit.receiving[slice.port(cell.rail, cell.receiver)];
    if (std::min(sends.partners, receives.partners) < kMinPartners) continue;
    RouteSuspect route{cell.sender, cell.receiver, cell.rail};
    route.effect = fit.residuals[i];
    route.score = score_of(route.effect, fit.sigma);
    const double below = cell.y - fit.typical[cell.rail];
    const bool by_itself = noise_hidden && below <= least(kRouteEffect);
    if (by_itself) route.effect = std::min(route.effect, below);
    if (route.effect > least(kRouteEffect) || (route.score < kScore && !by_itself)) continue;
    found.push_back(route);
  }
  return found;
}

std::size_t too_many_routes(const Slice& slice, const std::vector<RouteSuspect>& suspects) {
  const auto beyond = [&](std::size_t count, double share) {
    return static_cast<double>(count) >
           std::max(kFewRoutes, share * static_cast<double>(slice.screening.size()));
  };
  if (beyond(suspects.size(), kMaxScreenedShare)) return suspects.size();
  const auto again =
      static_cast<std::size_t>(std::ranges::count_if(suspects, [](const RouteSuspect& route) {
        return route.test.cells > 0 && route.state != State::withdrawn;
      }));
  return beyond(again, kMaxRouteShare) ? again : 0;
}

namespace {

RouteKey key_of(const RouteSuspect& route) {
  return {route.sender, route.receiver, route.rail};
}

/// Of a repeat that bears the suspicion out, at most. The screening may have dipped besides.
double slow_limit(const RouteSuspect& route) {
  return std::min(least(kRouteEffect), std::max(route.effect, route.test.effect) / 2);
}

/// The upper one of two: a sender or receiver is slow only if most of its cells are.
double upper_median(std::vector<double>& values) {
  return measure::at_rank(values, values.size() / 2);
}

/// How often cells are slow that nobody accuses: those of routes that were never measured again, or
/// that once were not slow, count as slow by chance.
class ChanceDips {
 public:
  ChanceDips(const Slice& slice, const Fit& fit, const std::set<RouteKey>& accused) {
    for (std::size_t i = 0; i < slice.screening.size(); ++i) {
      add(slice.screening[i], fit.residuals[i], accused);
    }
    for (const Cell& cell : slice.confirming) {
      add(cell, cell.y - fit.predicted(slice, cell), accused);
    }
    std::sort(residuals_.begin(), residuals_.end());
  }
  /// At least that of one dip, because a rate of 0 is never known.
  double rate(double limit) const {
    const auto dips =
        std::upper_bound(residuals_.begin(), residuals_.end(), limit) - residuals_.begin();
    return static_cast<double>(dips + 1) / static_cast<double>(residuals_.size() + 1);
  }

 private:
  void add(const Cell& cell, double residual, const std::set<RouteKey>& accused) {
    if (accused.count({cell.sender, cell.receiver, cell.rail}) == 0) residuals_.push_back(residual);
  }
  std::vector<double> residuals_;
};

}  // namespace

void test_routes(const Slice& slice, const Fit& fit, std::vector<RouteSuspect>& suspects) {
  std::set<RouteKey> suspected;
  for (const RouteSuspect& route : suspects) suspected.insert(key_of(route));
  std::map<RouteKey, std::map<std::uint32_t, double>> again;  // by round
  // The end's other cells on that rail, without suspect pairs.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> from;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> to;
  for (const Cell& cell : slice.confirming) {
    const RouteKey key{cell.sender, cell.receiver, cell.rail};
    const double residual = cell.y - fit.predicted(slice, cell);
    if (suspected.count(key) != 0) {
      double& best = again[key].try_emplace(cell.round, residual).first->second;
      best = std::max(best, residual);
    } else {
      from[{cell.sender, cell.rail}].push_back(residual);
      to[{cell.receiver, cell.rail}].push_back(residual);
    }
  }
  std::set<RouteKey> accused;
  for (RouteSuspect& route : suspects) {
    const auto same = again.find(key_of(route));
    if (same == again.end()) continue;
    std::vector<double> repeats;
    for (const auto& [round, residual] : same->second) repeats.push_back(residual);
    Test& test = route.test;
    test.cells = static_cast<std::uint32_t>(repeats.size());
    test.effect = measure::middle(repeats);
    test.score = score_of(test.effect, fit.sigma / std::sqrt(test.cells));
    if (std::ranges::max(repeats) <= slow_limit(route) && test.score >= kConfirmScore) {
      accused.insert(key_of(route));
    } else {
      route.state = State::withdrawn;
    }
  }
  const ChanceDips dips(slice, fit, accused);
  for (RouteSuspect& route : suspects) {
    if (route.test.cells == 0) continue;
    bool slow_end = false;
    const auto look = [&](auto& ends, std::uint32_t node, double& middle) {
      const auto cells = ends.find({node, route.rail});
      if (cells == ends.end()) return;
      middle = upper_median(cells->second);
      const bool slow = middle <= route.effect / 2;
      if (!slow) ++route.legs;
      slow_end |= slow && cells->second.size() >= kFewestLegs;  // one may be a dip
    };
    look(from, route.sender, route.from);
    look(to, route.receiver, route.to);
    if (slow_end) route.state = State::withdrawn;
    if (route.state == State::withdrawn) continue;
    // That one of all suspects is slow so often by chance, whichever of them are measured again.
    route.chance = std::min(1.0, static_cast<double>(suspects.size()) *
                                     std::pow(dips.rate(slow_limit(route)), route.test.cells));
    if (route.legs == kFewestLegs && route.test.cells >= kFewestRepeats &&
        route.chance < kMaxChance) {
      route.state = State::confirmed;
    }
  }
}

}  // namespace rdmabench::inline v1::fabric

// Nodes: which directions stand out in the fit, and what confirming measurements show of them.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include "attribution_judge.h"
#include "measure/ranks.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr double kCompanionScore = 2;  // limit for the other direction of a slow node
constexpr double kSpreadOfFit = 1.3;   // variance of an effect over that of a mean
constexpr double kSpreadOfFew = 1.15;  // standard error of a median of few over that of a mean
constexpr std::size_t kFewestControls = 5;
constexpr std::uint32_t kFewestTestPartners = 2;

using Port = std::pair<Direction, std::size_t>;

Direction other(Direction direction) {
  return direction == Direction::sending ? Direction::receiving : Direction::sending;
}

/// Least squares: whether one common effect of all rails fits the ports at least as well (within 2
/// variances) as an effect on the slowest rails only.
bool alike(std::vector<double> effects, double standard_error) {
  std::sort(effects.begin(), effects.end());
  const auto cost = [&](std::size_t slow) {
    double mean = 0;
    for (std::size_t i = 0; i < slow; ++i) mean += effects[i];
    mean /= static_cast<double>(slow);
    double sum = 0;
    for (std::size_t i = 0; i < effects.size(); ++i) {
      const double expected = i < slow ? mean : 0;
      sum += (effects[i] - expected) * (effects[i] - expected);
    }
    return sum;
  };
  const double whole = cost(effects.size());
  for (std::size_t slow = 1; slow < effects.size(); ++slow) {
    if (cost(slow) + 2 * standard_error * standard_error < whole) return false;
  }
  return true;
}

class EndJudge {
 public:
  EndJudge(const Slice& slice, const Fit& fit, const std::vector<TwoGroups>& groups)
      : slice_(slice), fit_(fit) {
    for (const TwoGroups& group : groups) ambiguous_.insert({group.direction, group.rail});
  }

  std::vector<EndSuspect> run() {
    for (std::uint32_t node = 0; node < slice_.nodes; ++node) judge(node);
    return std::move(found_);
  }

 private:
  bool judged(Direction direction, std::uint32_t rail, const Effect& effect) const {
    return effect.cells > 0 && !effect.pinned && ambiguous_.count({direction, rail}) == 0;
  }

  /// The effect on one rail, or over all rails that may be judged.
  EndSuspect measure(Direction direction, std::uint32_t node,
                     std::optional<std::uint32_t> only) const {
    EndSuspect end{direction, node, only};
    std::uint32_t partners = 0;
    double sum = 0;
    for (std::uint32_t rail = 0; rail < slice_.rails; ++rail) {
      if (only && *only != rail) continue;
      const Effect& effect = fit_.effects(direction)[slice_.port(rail, node)];
      if (!judged(direction, rail, effect)) continue;
      sum += effect.value * effect.cells;
      end.cells += effect.cells;
      partners = std::max(partners, effect.partners);
    }
    if (partners < kMinPartners) return end;
    end.effect = sum / end.cells;
    const double scale = only ? fit_.port_scale : fit_.node_scale;
    end.score = score_of(end.effect, scale / std::sqrt(end.cells));
    return end;
  }

  void judge(std::uint32_t node) {
    std::vector<EndSuspect> ends;
    for (const Direction direction : kDirections) {
      keep(ends, node, {direction}, is_alike(node, {direction}));
    }
    if (ends.empty()) return;
    // A node slow in both directions is slow on the same rails: judge the rails by both together.
    const bool both = ends.front().direction != ends.back().direction;
    if (both) {
      std::vector<EndSuspect> together;
      keep(together, node, {Direction::sending, Direction::receiving},
           is_alike(node, {Direction::sending, Direction::receiving}));
      if (!together.empty()) ends = std::move(together);
    }
    add_companions(ends);
    found_.insert(found_.end(), ends.begin(), ends.end());
  }

  bool is_alike(std::uint32_t node, std::initializer_list<Direction> directions) const {
    std::vector<double> effects;
    double errors = 0;
    for (std::uint32_t rail = 0; rail < slice_.rails; ++rail) {
      double sum = 0;
      double count = 0;
      double cells = 0;
      for (const Direction direction : directions) {
        const Effect& effect = fit_.effects(direction)[slice_.port(rail, node)];
        if (!judged(direction, rail, effect)) continue;
        sum += effect.value;
        cells += effect.cells;
        ++count;
      }
      if (count == 0) continue;
      effects.push_back(sum / count);
      errors += fit_.port_scale / std::sqrt(cells);
    }
    return effects.empty() || alike(effects, errors / static_cast<double>(effects.size()));
  }

  void keep(std::vector<EndSuspect>& ends, std::uint32_t node,
            std::initializer_list<Direction> directions, bool whole) const {
    for (const Direction direction : directions) {
      if (whole) {
        keep(ends, measure(direction, node, std::nullopt), kLeadScore);
        continue;
      }
      for (std::uint32_t rail = 0; rail < slice_.rails; ++rail) {
        keep(ends, measure(direction, node, rail), kLeadScore);
      }
    }
  }

  void keep(std::vector<EndSuspect>& ends, const EndSuspect& end, double score) const {
    if (end.effect > least(kMinEffect) || end.score < score) return;
    ends.push_back(end);
  }

  /// Where one direction is slow and the other at least half as slow, both are reported, although
  /// the second alone would not stand out.
  void add_companions(std::vector<EndSuspect>& ends) const {
    const std::size_t count = ends.size();
    for (std::size_t i = 0; i < count; ++i) {
      const EndSuspect& first = ends[i];
      const Direction direction = other(first.direction);
      const bool have = std::any_of(ends.begin(), ends.end(), [&](const EndSuspect& end) {
        return end.direction == direction && (!end.rail || !first.rail || end.rail == first.rail);
      });
      if (have) continue;
      const EndSuspect end = measure(direction, first.node, first.rail);
      if (end.effect <= first.effect / 2) keep(ends, end, kCompanionScore);
    }
  }

  const Slice& slice_;
  const Fit& fit_;
  std::set<std::pair<Direction, std::uint32_t>> ambiguous_;
  std::vector<EndSuspect> found_;
};

class EndTest {
 public:
  EndTest(const Slice& slice, const Fit& fit, const std::vector<EndSuspect>& suspects,
          const std::vector<RouteSuspect>& routes)
      : slice_(slice), fit_(fit) {
    for (const RouteSuspect& route : routes) routes_.insert({route.sender, route.receiver});
    for (const EndSuspect& end : suspects) {
      for (std::uint32_t rail = 0; rail < slice.rails; ++rail) {
        if (!end.rail || *end.rail == rail) {
          accused_.insert({end.direction, slice.port(rail, end.node)});
        }
      }
    }
    level_rounds();
    for (const Cell& cell : slice.confirming) {
      by_end_[{Direction::sending, cell.sender}].push_back(&cell);
      by_end_[{Direction::receiving, cell.receiver}].push_back(&cell);
    }
  }

  void decide(EndSuspect& end) const {
    std::vector<double> low;
    std::set<std::uint32_t> partners;
    const auto cells = by_end_.find({end.direction, end.node});
    if (cells == by_end_.end()) return;
    const bool sends = end.direction == Direction::sending;
    for (const Cell* cell : cells->second) {
      if (end.rail && *end.rail != cell->rail) continue;
      if (routes_.count({cell->sender, cell->receiver}) != 0) continue;
      const std::uint32_t partner = sends ? cell->receiver : cell->sender;
      const std::size_t port = slice_.port(cell->rail, partner);
      const Direction role = other(end.direction);
      if (accused_.count({role, port}) != 0) continue;
      partners.insert(partner);
      low.push_back(cell->y - fit_.typical[cell->rail] - fit_.effects(role)[port].value -
                    level(*cell));
    }
    if (partners.size() < kFewestTestPartners) return;
    end.test.partners = static_cast<std::uint32_t>(partners.size());
    end.test.cells = static_cast<std::uint32_t>(low.size());
    end.test.effect = measure::middle(low);
    end.test.score =
        score_of(end.test.effect, kSpreadOfFew * fit_.sigma / std::sqrt(end.test.cells));
    weigh(end);
  }

 private:
  /// Corrects for confirming rounds that as a whole were slower or faster than the screening.
  void level_rounds() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> clean;
    for (const Cell& cell : slice_.confirming) {
      if (accused_.count({Direction::sending, slice_.port(cell.rail, cell.sender)}) != 0) continue;
      if (accused_.count({Direction::receiving, slice_.port(cell.rail, cell.receiver)}) != 0) {
        continue;
      }
      clean[{cell.round, cell.rail}].push_back(cell.y - fit_.predicted(slice_, cell));
    }
    for (auto& [key, residuals] : clean) {
      if (residuals.size() >= kFewestControls) levels_[key] = measure::middle(residuals);
    }
  }

  double level(const Cell& cell) const {
    const auto found = levels_.find({cell.round, cell.rail});
    return found == levels_.end() ? 0 : found->second;
  }

  /// The effect and score over screening and test together.
  void weigh(EndSuspect& end) const {
    const double scale = end.rail ? fit_.port_scale : fit_.node_scale;
    const double noise = kSpreadOfFit * fit_.sigma * fit_.sigma;
    const double differences = std::max(0.0, scale * scale - noise) / end.cells;
    const std::uint32_t cells = end.cells + end.test.cells;
    const double effect = (end.effect * end.cells + end.test.effect * end.test.cells) / cells;
    end.test.screened = end.effect;
    end.effect = effect;
    end.score = score_of(effect, std::sqrt(differences + noise / cells));
  }

  const Slice& slice_;
  const Fit& fit_;
  std::set<Port> accused_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> routes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> levels_;  // by round and rail
  std::map<std::pair<Direction, std::uint32_t>, std::vector<const Cell*>> by_end_;
};

/// Judges a tested direction, together with `same`, the node's other direction, if that was tested
/// too. Withdrawn: the test shows less than half of the effect of the screening, or nearly none.
/// Confirmed: the effect stands out both in the test alone and in all measurements. Else open: it
/// needs more.
State judged(const EndSuspect& end, const EndSuspect* same) {
  Test test = end.test;
  double score = end.score;
  const double root = std::sqrt(2.0);
  if (same != nullptr) {
    test.effect = (test.effect + same->test.effect) / 2;
    test.screened = (test.screened + same->test.screened) / 2;
    test.score = std::max(test.score, (test.score + same->test.score) / root);
    score = std::max(score, (score + same->score) / root);
  }
  const double least_effect = least(kMinEffect);
  if (end.test.effect > least_effect || test.effect > test.screened / 2) return State::withdrawn;
  const bool sure = test.score >= kConfirmScore && score >= kScore && end.effect <= least_effect;
  return sure ? State::confirmed : State::open;
}

}  // namespace

double least(double effect) {
  return std::log1p(-effect);
}

double score_of(double effect, double standard_error) {
  constexpr double kMost = 1e6;
  if (!(standard_error < HUGE_VAL) || effect >= 0) return 0;
  return std::min(kMost, -effect / std::max(standard_error, kFloor));
}

std::vector<EndSuspect> suspect_ends(const Slice& slice, const Fit& fit,
                                     const std::vector<TwoGroups>& groups) {
  return EndJudge(slice, fit, groups).run();
}

void test_ends(const Slice& slice, const Fit& fit, const std::vector<RouteSuspect>& routes,
               std::vector<EndSuspect>& suspects) {
  if (slice.confirming.empty() || suspects.empty()) return;
  const EndTest test(slice, fit, suspects, routes);
  for (EndSuspect& end : suspects) test.decide(end);
  for (EndSuspect& end : suspects) {
    if (end.test.cells == 0) continue;
    const EndSuspect* same = nullptr;
    for (const EndSuspect& one : suspects) {
      if (one.node == end.node && one.rail == end.rail && one.direction != end.direction &&
          one.test.cells > 0) {
        same = &one;
      }
    }
    end.state = judged(end, same);
  }
}

}  // namespace rdmabench::inline v1::fabric

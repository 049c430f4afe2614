// Nodes: which directions stand out in the fit, and what known-good partners say of them.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "attribution_judge.h"

namespace rdmabench::fabric {
namespace {

constexpr double kCompanionScore = 2;  // of the other direction of a node that is slow in one
constexpr double kSpreadOfFit = 1.3;   // variance of an effect over that of a mean: its partners'
constexpr double kSpreadOfMiddle = 1.15;  // standard error of a median of few over that of a mean
constexpr std::size_t kFewestControls = 5;
constexpr std::uint32_t kFewestTestPartners = 2;

using Port = std::pair<Direction, std::size_t>;

Direction other(Direction direction) {
  return direction == Direction::sending ? Direction::receiving : Direction::sending;
}

/// Whether one effect of all rails tells the ports better than one of the lowest alone and nothing
/// on the others, by least squares, unless that is better by 2 variances.
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
  EndJudge(const Slice& slice, const Fit& fit, const std::vector<TwoGroups>& groups,
           const AttributionOptions& options)
      : slice_(slice), fit_(fit), options_(options) {
    for (const TwoGroups& group : groups) ambiguous_.insert({group.direction, group.rail});
  }

  std::vector<EndSuspect> run() {
    for (const Direction direction : kDirections) {
      for (std::uint32_t node = 0; node < slice_.nodes; ++node) judge(direction, node);
    }
    add_companions();
    return std::move(found_);
  }

 private:
  bool judged(Direction direction, std::uint32_t rail, const Effect& effect) const {
    return effect.cells > 0 && !effect.pinned && ambiguous_.count({direction, rail}) == 0;
  }

  /// The effect on one rail, or over all of those that may be judged.
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
    if (partners < options_.min_partners) return end;
    end.effect = sum / end.cells;
    const double scale = only ? fit_.port_scale : fit_.node_scale;
    end.score = score_of(end.effect, scale / std::sqrt(end.cells));
    return end;
  }

  void judge(Direction direction, std::uint32_t node) {
    std::vector<double> effects;
    double errors = 0;
    for (std::uint32_t rail = 0; rail < slice_.rails; ++rail) {
      const Effect& effect = fit_.effects(direction)[slice_.port(rail, node)];
      if (!judged(direction, rail, effect)) continue;
      effects.push_back(effect.value);
      errors += fit_.port_scale / std::sqrt(effect.cells);
    }
    if (effects.empty()) return;
    if (alike(effects, errors / static_cast<double>(effects.size()))) {
      keep(measure(direction, node, std::nullopt), options_.lead_score);
      return;
    }
    for (std::uint32_t rail = 0; rail < slice_.rails; ++rail) {
      keep(measure(direction, node, rail), options_.lead_score);
    }
  }

  bool keep(const EndSuspect& end, double score) {
    if (end.effect > least(options_.min_effect) || end.score < score) return false;
    found_.push_back(end);
    return true;
  }

  /// A node that is slow one way and half as slow or more the other is slow both ways, though the
  /// second by itself would not stand out as far.
  void add_companions() {
    std::set<std::pair<Direction, std::uint32_t>> have;
    for (const EndSuspect& end : found_) have.insert({end.direction, end.node});
    const std::size_t count = found_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Direction direction = other(found_[i].direction);
      if (have.count({direction, found_[i].node}) != 0) continue;
      const EndSuspect end = measure(direction, found_[i].node, found_[i].rail);
      if (end.effect <= found_[i].effect / 2) keep(end, kCompanionScore);
    }
  }

  const Slice& slice_;
  const Fit& fit_;
  const AttributionOptions& options_;
  std::set<std::pair<Direction, std::uint32_t>> ambiguous_;
  std::vector<EndSuspect> found_;
};

class EndTest {
 public:
  EndTest(const Slice& slice, const Fit& fit, const AttributionOptions& options,
          const std::vector<EndSuspect>& suspects)
      : slice_(slice), fit_(fit), options_(options) {
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
    end.test.effect = middle(low);
    end.test.score =
        score_of(end.test.effect, kSpreadOfMiddle * fit_.sigma / std::sqrt(end.test.cells));
    weigh(end);
  }

 private:
  /// Confirming rounds may as a whole run slower or faster than screening did.
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
      if (residuals.size() >= kFewestControls) levels_[key] = middle(residuals);
    }
  }

  double level(const Cell& cell) const {
    const auto found = levels_.find({cell.round, cell.rail});
    return found == levels_.end() ? 0 : found->second;
  }

  /// Confirmed is what stands out by itself in the test, at least half as far as in the screening,
  /// and in both together as far as a finding must.
  void weigh(EndSuspect& end) const {
    const double scale = end.rail ? fit_.port_scale : fit_.node_scale;
    const double noise = kSpreadOfFit * fit_.sigma * fit_.sigma;
    const double differences = std::max(0.0, scale * scale - noise) / end.cells;
    const std::uint32_t cells = end.cells + end.test.cells;
    const double effect = (end.effect * end.cells + end.test.effect * end.test.cells) / cells;
    const double score = score_of(effect, std::sqrt(differences + noise / cells));
    const bool alone = end.test.effect <= least(options_.min_effect) &&
                       end.test.effect <= end.effect / 2 &&
                       end.test.score >= options_.confirm_score;
    const bool together = effect <= least(options_.min_effect) && score >= options_.score;
    end.state = alone && together ? State::confirmed : State::withdrawn;
    end.effect = effect;
    end.score = score;
  }

  const Slice& slice_;
  const Fit& fit_;
  const AttributionOptions& options_;
  std::set<Port> accused_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> levels_;  // by round and rail
  std::map<std::pair<Direction, std::uint32_t>, std::vector<const Cell*>> by_end_;
};

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
                                     const std::vector<TwoGroups>& groups,
                                     const AttributionOptions& options) {
  return EndJudge(slice, fit, groups, options).run();
}

void test_ends(const Slice& slice, const Fit& fit, const AttributionOptions& options,
               std::vector<EndSuspect>& suspects) {
  if (slice.confirming.empty() || suspects.empty()) return;
  const EndTest test(slice, fit, options, suspects);
  for (EndSuspect& end : suspects) test.decide(end);
}

}  // namespace rdmabench::fabric

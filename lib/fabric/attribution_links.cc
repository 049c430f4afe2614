#include "attribution_judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "attribution_words.h"
#include "measure/ranks.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::size_t kLeastCells = 20;  // fewer do not tell noise from effects
constexpr std::size_t kLeastPairs = 4;   // slow ones over a link that is accused
constexpr double kLinkEffect = 0.05;     // smaller ones are typical
constexpr double kNearlyAll = 0.9;       // of the pairs over a slow link are slow
constexpr int kMostElements = 16;        // of a rail
constexpr std::size_t kMostLinks = 4;    // links in a sentence
constexpr double kUpper = 75;            // the percentile that stands for healthy pairs: three
                                         // quarters may be slow
constexpr double kTop = 95;
constexpr double kSpan = 1.6449 - 0.6745;  // standard deviations from the one to the other

/// What may be to blame: the smaller the part the earlier, which decides between equals.
struct Element {
  Part part = Part::link;
  std::uint32_t index = 0;  ///< of a point or link; of a direction 2 * link + forward
  std::uint32_t to = 0;     ///< between leaves: the second one
  bool operator<(const Element& other) const {
    return std::tuple(part, index, to) < std::tuple(other.part, other.index, other.to);
  }
};

std::string_view next_step(Part part) {
  switch (part) {
    case Part::switch_point:
      return "Look at its error, discard and temperature counters, and at how its ports are routed.";
    case Part::between:
      return "What joins them is not in the topology: look at the error counters of their uplinks "
             "and at the switches above, then reseat or replace the cable.";
    default:
      return "Look at the error counters, width and speed of both ports, then reseat or replace the "
             "cable.";
  }
}

/// A cell with what all of its paths cross.
struct Crosser {
  Cell* cell = nullptr;
  double y = 0;  ///< against pairs that are as far apart
  std::size_t switches = 0;
  std::vector<Element> crosses;
};

class LinkJudge {
 public:
  LinkJudge(Slice& slice, const Paths& paths, Attribution& out)
      : slice_(slice), paths_(paths), out_(out) {}

  void run(std::uint32_t rail) {
    rail_ = rail;
    screening_ = crossers(slice_.screening);
    confirming_ = crossers(slice_.confirming);
    if (screening_.size() < kLeastCells) return;
    level_distances();
    std::vector<double> all;
    for (const Crosser& one : screening_) all.push_back(one.y);
    sigma_ = std::max(kFloor,
                      (measure::percentile(all, kTop) - measure::percentile(all, kUpper)) / kSpan);
    limit_ = -std::max(-least(kLinkEffect), kLeadScore * sigma_);
    explained_.assign(screening_.size(), false);
    for (int i = 0; i < kMostElements; ++i) {
      if (!blame_one()) break;
    }
  }

 private:
  std::vector<Crosser> crossers(std::vector<Cell>& cells) const {
    std::vector<Crosser> found;
    for (Cell& cell : cells) {
      if (cell.rail != rail_) continue;
      Crosser one{.cell = &cell, .y = cell.y, .switches = 0, .crosses = {}};
      std::set<std::uint32_t> switches;
      double length = 0;
      const std::vector<Crossing> way = paths_.between(cell.sender, cell.receiver, rail_);
      if (way.empty()) continue;  // ranks of one host
      if (const auto leaves = paths_.apart(cell.sender, cell.receiver, rail_)) {
        one.crosses.push_back({Part::between, leaves->first, leaves->second});
      }
      for (const Crossing& crossing : way) {
        length += crossing.share;
        if (crossing.share < kWhole) continue;
        const TopologyLink& link = paths_.topology().links[crossing.link];
        for (const std::uint32_t point : {link.a, link.b}) {
          if (!paths_.topology().points[point].host) switches.insert(point);
        }
        if (!paths_.between_switches(crossing.link)) continue;
        one.crosses.push_back({Part::link, 2 * crossing.link + (crossing.forward ? 1U : 0U), 0});
        one.crosses.push_back({Part::cable, crossing.link, 0});
      }
      for (const std::uint32_t point : switches) {
        one.crosses.push_back({Part::switch_point, point, 0});
      }
      one.switches = static_cast<std::size_t>(std::lround(length)) - 1;
      found.push_back(std::move(one));
    }
    return found;
  }

  /// Pairs that are further apart are compared with their like. The cells keep the level of the
  /// distance that most have.
  void level_distances() {
    std::map<std::size_t, std::vector<double>> values;
    for (const Crosser& one : screening_) values[one.switches].push_back(one.y);
    std::map<std::size_t, double> healthy;
    std::size_t most = 0;
    for (const auto& [switches, list] : values) {
      healthy[switches] = measure::percentile(list, kUpper);
      if (most == 0 || list.size() > values[most].size()) most = switches;
    }
    for (std::vector<Crosser>* list : {&screening_, &confirming_}) {
      for (Crosser& one : *list) {
        const auto level = healthy.find(one.switches);
        if (level == healthy.end()) continue;
        one.cell->y += healthy[most] - level->second;
        one.y -= level->second;
      }
    }
    const std::size_t near = values.begin()->first;
    if (slice_.metric == Metric::latency || values.size() < 2) return;
    for (const auto& [switches, list] : values) {
      const double gap = healthy[switches] - healthy[near];
      if (gap > least(kRouteEffect) || values[near].size() < kLeastPairs) continue;
      out_.not_judged.push_back(fmt::format(
          "{}: pairs with {} switches between them reach {:.2f} of what pairs with {} reach: the "
          "links of that level are shared by too many or slow.",
          subject(), switches, ratio_of(slice_.metric, gap), near));
    }
  }

  struct Evidence {
    std::size_t cells = 0;
    std::size_t slow = 0;
    std::set<std::uint32_t> senders;
    std::set<std::uint32_t> receivers;
    std::map<std::uint32_t, std::size_t> ends;
  };

  /// One node in all of the cells explains them as well, and is the simpler cause.
  bool may_blame(const Evidence& seen) const {
    const bool one_node = std::any_of(seen.ends.begin(), seen.ends.end(),
                                      [&](const auto& end) { return end.second == seen.cells; });
    return seen.slow >= kLeastPairs && seen.senders.size() >= 2 && seen.receivers.size() >= 2 &&
           static_cast<double>(seen.slow) >= kNearlyAll * static_cast<double>(seen.cells) &&
           !one_node;
  }

  bool blame_one() {
    std::map<Element, Evidence> all;
    for (std::size_t i = 0; i < screening_.size(); ++i) {
      if (explained_[i]) continue;
      const Crosser& one = screening_[i];
      for (const Element& element : one.crosses) {
        Evidence& seen = all[element];
        ++seen.cells;
        seen.slow += one.y < limit_ ? 1U : 0U;
        seen.senders.insert(one.cell->sender);
        seen.receivers.insert(one.cell->receiver);
        ++seen.ends[one.cell->sender];
        ++seen.ends[one.cell->receiver];
      }
    }
    const Element* best = nullptr;
    for (const auto& [element, seen] : all) {
      if (may_blame(seen) && (best == nullptr || seen.slow > all[*best].slow)) best = &element;
    }
    if (best == nullptr) return false;
    std::vector<std::string> alike;
    std::vector<Element> accused;
    for (const auto& [element, seen] : all) {
      if (may_blame(seen)) accused.push_back(element);
      const bool other = element < *best || *best < element;
      if (element.part == best->part && other && may_blame(seen) && same_cells(*best, element)) {
        alike.push_back(name(element));
      }
    }
    blame(*best, all[*best], alike, accused);
    return true;
  }

  bool same_cells(const Element& a, const Element& b) const {
    return std::all_of(screening_.begin(), screening_.end(),
                       [&](const Crosser& one) { return crosses(one, a) == crosses(one, b); });
  }

  static bool crosses(const Crosser& one, const Element& element) {
    return std::any_of(one.crosses.begin(), one.crosses.end(), [&](const Element& other) {
      return !(other < element) && !(element < other);
    });
  }

  void blame(const Element& element, const Evidence& seen, const std::vector<std::string>& alike,
             const std::vector<Element>& accused) {
    std::vector<double> values;
    Finding finding;
    for (std::size_t i = 0; i < screening_.size(); ++i) {
      if (explained_[i] || !crosses(screening_[i], element)) continue;
      explained_[i] = true;
      values.push_back(screening_[i].y);
      finding.pairs.emplace_back(screening_[i].cell->sender, screening_[i].cell->receiver);
    }
    const double effect = measure::middle(values);
    std::vector<double> again;
    for (const Crosser& one : confirming_) {
      if (crosses(one, element)) again.push_back(one.y);
    }
    const std::size_t repeated = again.size();
    const double later = measure::middle(again);
    std::vector<double> beside = beside_in_confirming(accused, finding.pairs);
    const double elsewhere = measure::middle(beside);
    const bool nodes_slow =
        beside.size() > 1 && elsewhere <= std::min(least(kMinEffect), effect / 2);
    const bool withdrawn =
        repeated > 1 && (later > least(kMinEffect) || later > effect / 2 || nodes_slow);

    finding.metric = slice_.metric;
    finding.size_bytes = slice_.size_bytes;
    finding.part = element.part;
    finding.element = name(element);
    if (slice_.rails > 1) finding.rail = rail_;
    finding.ratio = ratio_of(slice_.metric, effect);
    finding.score = score_of(effect, sigma_ / std::sqrt(static_cast<double>(values.size())));
    finding.confirmed = repeated > 1 && !withdrawn;
    finding.evidence.push_back(
        fmt::format("{} of {} measured pairs that cross it are slow, {} senders "
                    "and {} receivers; by this, their nodes are not to blame",
                    seen.slow, seen.cells, seen.senders.size(), seen.receivers.size()));
    if (repeated > 0) {
      finding.evidence.push_back(
          fmt::format("measured again, pairs that cross it are at {:.2f} in {} "
                      "measurements",
                      ratio_of(slice_.metric, later), repeated));
    }
    if (!beside.empty()) {
      finding.evidence.push_back(
          fmt::format("in the same rounds, pairs of these nodes that do not cross it are at {:.2f} "
                      "in {} measurements",
                      ratio_of(slice_.metric, elsewhere), beside.size()));
    }
    if (!alike.empty()) {
      finding.evidence.push_back(fmt::format("the same pairs cross {}: they cannot be told apart",
                                             fmt::join(alike, ", ")));
    }
    finding.text =
        fmt::format("{} {}{}, {}: pairs that cross it are at {:.2f} of pairs as far apart. {}",
                    fabric::name(element.part), finding.element,
                    element.part == Part::cable ? " in both directions" : "", subject(),
                    finding.ratio, next_step(element.part));
    if (withdrawn) {
      out_.withdrawn.push_back(std::move(finding));
      return;
    }
    for (std::vector<Crosser>* list : {&screening_, &confirming_}) {
      for (Crosser& one : *list) {
        if (!crosses(one, element)) continue;
        one.cell->y -= effect;
        one.y -= effect;
      }
    }
    out_.findings.push_back(std::move(finding));
  }

  /// The square test: what senders and receivers over the element reach with others, beside all
  /// that is accused, the element and others that may be slow too. By the
  /// confirming cells, each against pairs that are as far apart.
  std::vector<double> beside_in_confirming(
      const std::vector<Element>& accused,
      const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) const {
    std::set<std::uint32_t> senders;
    std::set<std::uint32_t> receivers;
    for (const auto& [sender, receiver] : pairs) {
      senders.insert(sender);
      receivers.insert(receiver);
    }
    std::vector<double> found;
    for (const Crosser& one : confirming_) {
      const bool by_another = std::any_of(accused.begin(), accused.end(),
                                          [&](const Element& part) { return crosses(one, part); });
      if (by_another) continue;
      if (senders.count(one.cell->sender) + receivers.count(one.cell->receiver) == 0) continue;
      found.push_back(one.y);
    }
    return found;
  }

  std::string name(const Element& element) const {
    const std::vector<TopologyPoint>& points = paths_.topology().points;
    switch (element.part) {
      case Part::between:
        return fmt::format("{0} and {1} (towards {1})", points[element.index].name,
                           points[element.to].name);
      case Part::link:
        return paths_.name(element.index / 2, element.index % 2 != 0);
      case Part::cable:
        return paths_.name(element.index, true);
      default:
        return points[element.index].name;
    }
  }

  std::string subject() const { return fabric::subject(slice_.metric, slice_.size_bytes); }

  Slice& slice_;
  const Paths& paths_;
  Attribution& out_;
  std::uint32_t rail_ = 0;
  std::vector<Crosser> screening_;
  std::vector<Crosser> confirming_;
  std::vector<bool> explained_;
  double sigma_ = 0;
  double limit_ = 0;
};

std::string some_of(std::vector<std::string> names) {
  const bool more = names.size() > kMostLinks;
  if (more) names.resize(kMostLinks);
  return fmt::format("{}{}", fmt::join(names, "; "), more ? "; ..." : "");
}

}  // namespace

void judge_links(Slice& slice, const Paths& paths, Attribution& out) {
  LinkJudge judge(slice, paths, out);
  for (std::uint32_t rail = 0; rail < slice.rails; ++rail) judge.run(rail);
}

Crossed crossed_links(const Matrix& matrix, const Paths& paths, Attribution& out) {
  std::map<std::pair<std::uint32_t, bool>, std::set<std::pair<std::uint32_t, std::uint32_t>>> pairs;
  for (std::uint32_t link = 0; link < paths.topology().links.size(); ++link) {
    if (!paths.between_switches(link)) continue;
    pairs[{link, false}];
    pairs[{link, true}];
  }
  std::set<std::uint32_t> within;
  std::set<std::pair<std::uint32_t, bool>> maybe;  // one of several ways of a pair
  std::set<std::pair<std::uint32_t, std::uint32_t>> cut;
  for (const Measurement& cell : matrix.measurements) {
    if (cell.confirming || is_left_out(cell)) continue;
    const std::vector<Crossing> path = paths.between(cell.sender, cell.receiver, cell.rail);
    if (const auto leaf = paths.only_switch(path); leaf && paths.leaves().contains(*leaf)) {
      within.insert(*leaf);
    }
    if (path.empty() && paths.is_cut(cell.sender, cell.receiver, cell.rail)) {
      cut.insert({cell.sender, cell.receiver});
    }
    for (const Crossing& one : path) {
      const auto found = pairs.find({one.link, one.forward});
      if (found == pairs.end()) continue;
      if (one.share < kWhole) {
        maybe.insert(found->first);
      } else {
        found->second.insert({cell.sender, cell.receiver});
      }
    }
  }
  Crossed crossed{.leaves = static_cast<std::uint32_t>(paths.leaves().size()),
                  .within = static_cast<std::uint32_t>(within.size())};
  std::vector<std::string> missed;
  std::vector<std::string> unsure;
  std::size_t fewest = matrix.measurements.size();
  for (const auto& [direction, list] : pairs) {
    ++crossed.directions;
    if (list.empty()) {
      auto& without = maybe.contains(direction) ? unsure : missed;
      without.push_back(paths.name(direction.first, direction.second));
    } else {
      ++crossed.crossed;
      fewest = std::min(fewest, list.size());
    }
  }
  if (crossed.crossed > 0) crossed.fewest_pairs = static_cast<std::uint32_t>(fewest);
  if (!missed.empty()) {
    const std::size_t count = missed.size();
    out.not_judged.push_back(fmt::format(
        "{} of {} directions of links between switches were crossed by no measured pair, and are not "
        "judged: {}. Measure more rounds or nodes.",
        count, crossed.directions, some_of(std::move(missed))));
  }
  if (!unsure.empty()) {
    const std::size_t count = unsure.size();
    out.not_judged.push_back(fmt::format(
        "{} of {} directions of links between switches are one of several that each pair over them "
        "may have taken, and are not judged by themselves: {}. Of InfiniBand give the forwarding "
        "tables too (dump_fts).",
        count, crossed.directions, some_of(std::move(unsure))));
  }
  if (!cut.empty()) {
    std::vector<std::string> names;
    for (const auto& [sender, receiver] : cut) {
      names.push_back(
          fmt::format("{} to {}", matrix.nodes[sender].host, matrix.nodes[receiver].host));
    }
    out.not_judged.push_back(fmt::format(
        "{} measured pairs have no way in the topology, and no link is judged by them: {}. Complete "
        "the topology.",
        cut.size(), some_of(std::move(names))));
  }
  return crossed;
}

}  // namespace rdmabench::inline v1::fabric

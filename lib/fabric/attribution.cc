#include "rdmabench/fabric/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "attribution_judge.h"
#include "attribution_words.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr int kRefits = 4;         // fits after the first one; each clears suspects
constexpr double kMostFail = 0.6;  // where a larger share of measurements failed, no node is blamed

constexpr std::array<std::string_view, 9> kParts{"node",    "sender", "receiver", "rail",  "route",
                                                 "between", "link",   "cable",    "switch"};
constexpr std::array<std::string_view, 7> kVerdicts{
    "good", "suspect", "slow", "failing", "lost", "ambiguous", "not-enough-evidence"};

/// Everything about one metric and size, put into an Attribution.
class SliceJudge {
 public:
  SliceJudge(const Matrix& matrix, const Slice& slice, Attribution& out)
      : matrix_(matrix), slice_(slice), out_(out), words_(matrix, slice, fit_) {}

  void run() {
    const std::vector<TwoGroups> groups = two_groups(slice_);
    const std::vector<EndSuspect> ends = fit_and_clear(groups);
    summarize_rails();
    if (std::isfinite(fit_.sigma)) {
      report_ends(ends);
      report_rails();
      if (groups.empty()) report_routes();
    }
    const std::set<std::uint32_t> failing = report_failing();
    tell_not_judged(groups);
    summarize_nodes(!groups.empty(), ends, failing);
  }

 private:
  /// Suspects that known-good partners clear are pinned to the typical value, and the model is
  /// fitted again: their deviation then goes to their partners or to a route. Returns the others.
  std::vector<EndSuspect> fit_and_clear(const std::vector<TwoGroups>& groups) {
    std::vector<Pin> pins;
    std::vector<EndSuspect> ends;
    for (int i = 0; i < kRefits; ++i) {
      fit_ = fit(slice_, pins);
      ends = suspect_ends(slice_, fit_, groups);
      auto routes = suspect_routes(slice_, fit_);
      if (too_many_routes(slice_, routes) > 0) routes.clear();
      test_ends(slice_, fit_, routes, ends);
      const auto cleared = std::stable_partition(
          ends.begin(), ends.end(), [](const auto& end) { return end.state != State::withdrawn; });
      if (cleared == ends.end()) break;
      for (auto end = cleared; end != ends.end(); ++end) {
        pins.push_back({end->direction, end->node, end->rail});
        out_.withdrawn.push_back(words_.ends({*end}));
      }
      ends.erase(cleared, ends.end());
    }
    return ends;
  }

  void keep(Finding finding, State state) {
    auto& list = state == State::withdrawn                      ? out_.withdrawn
                 : finding.confirmed || finding.score >= kScore ? out_.findings
                                                                : out_.leads;
    list.push_back(std::move(finding));
  }

  void report_ends(const std::vector<EndSuspect>& ends) {
    std::map<std::pair<std::uint32_t, std::optional<std::uint32_t>>, std::vector<EndSuspect>> nodes;
    for (const EndSuspect& end : ends) nodes[{end.node, end.rail}].push_back(end);
    for (const auto& [key, both] : nodes) {
      if (both.size() == 2 && both[0].state == both[1].state) {
        keep(words_.ends(both), both[0].state);
        continue;
      }
      for (const EndSuspect& end : both) keep(words_.ends({end}), end.state);
    }
  }

  void report_rails() {
    auto rails = suspect_rails(slice_, fit_);
    test_rails(slice_, fit_, rails);
    for (const RailSuspect& rail : rails) keep(words_.rail(rail), rail.state);
  }

  void report_routes() {
    auto routes = suspect_routes(slice_, fit_);
    test_routes(slice_, fit_, routes);
    if (const std::size_t slow = too_many_routes(slice_, routes); slow > 0) {
      out_.not_judged.push_back(words_.too_many_routes(slow));
      return;
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> measured;
    for (const Cell& cell : slice_.screening) {
      measured[{cell.sender, cell.receiver}].insert(cell.rail);
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<RouteSuspect>> pairs;
    for (const RouteSuspect& route : routes) pairs[{route.sender, route.receiver}].push_back(route);
    std::vector<Finding> found;
    for (const auto& [pair, suspects] : pairs) {
      // clang 14 cannot capture a structured binding
      const std::vector<RouteSuspect>& rails = suspects;
      const bool same = std::all_of(rails.begin(), rails.end(), [&](const RouteSuspect& route) {
        return route.state == rails.front().state;
      });
      if (same && rails.size() == measured[pair].size()) {
        add_route(found, words_.route(rails, true), rails.front().state);
        continue;
      }
      for (const RouteSuspect& route : rails) {
        add_route(found, words_.route({route}, false), route.state);
      }
    }
    mark_blocks(measured, found);
    for (Finding& finding : found) keep(std::move(finding), State::open);
  }

  void add_route(std::vector<Finding>& found, Finding finding, State state) {
    if (state == State::withdrawn) {
      out_.withdrawn.push_back(std::move(finding));
    } else {
      found.push_back(std::move(finding));
    }
  }

  /// Slow routes that share senders and receivers, nearly all of whose pairs are slow.
  static void mark_blocks(
      const std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>>& measured,
      std::vector<Finding>& found) {
    constexpr double kNearlyAll = 0.8;
    std::vector<bool> seen(found.size(), false);
    for (std::size_t start = 0; start < found.size(); ++start) {
      if (seen[start]) continue;
      std::set<std::uint32_t> senders{found[start].a};
      std::set<std::uint32_t> receivers{*found[start].b};
      std::vector<std::size_t> members;
      for (bool grown = true; grown;) {
        grown = false;
        for (std::size_t i = start; i < found.size(); ++i) {
          if (seen[i]) continue;
          if (senders.count(found[i].a) + receivers.count(*found[i].b) == 0) continue;
          seen[i] = grown = true;
          members.push_back(i);
          senders.insert(found[i].a);
          receivers.insert(*found[i].b);
        }
      }
      if (senders.size() < 2 || receivers.size() < 2) continue;
      std::size_t pairs = 0;
      for (const auto& [pair, rails] : measured) {
        pairs += senders.count(pair.first) != 0 && receivers.count(pair.second) != 0 ? 1U : 0U;
      }
      std::set<std::pair<std::uint32_t, std::uint32_t>> slow;
      for (const std::size_t i : members) slow.insert({found[i].a, *found[i].b});
      if (static_cast<double>(slow.size()) < kNearlyAll * static_cast<double>(pairs)) continue;
      const std::string text =
          Words::block({senders.begin(), senders.end()}, {receivers.begin(), receivers.end()},
                       slow.size(), pairs);
      for (const std::size_t i : members) found[i].evidence.push_back(text);
    }
  }

  /// Returns the ranks that are blamed for measurements without a value.
  std::set<std::uint32_t> report_failing() {
    std::set<std::uint32_t> failing;
    const std::size_t tried = slice_.measured + slice_.failed.size();
    if (static_cast<double>(slice_.failed.size()) > kMostFail * static_cast<double>(tried)) {
      out_.not_judged.push_back(words_.most_failed());
      for (const FailedCell& cell : slice_.failed) {
        for (const std::uint32_t rank : {cell.sender, cell.receiver}) {
          const std::uint32_t values = pooled(slice_, fit_, Direction::sending, rank).cells +
                                       pooled(slice_, fit_, Direction::receiving, rank).cells;
          if (values == 0) failing.insert(rank);
        }
      }
      return failing;
    }
    for (const Failing& part : failing_parts(slice_)) {
      if (part.part != Part::route) failing.insert(part.a);
      out_.findings.push_back(words_.failing(part));
    }
    return failing;
  }

  void tell_not_judged(const std::vector<TwoGroups>& two) {
    std::map<std::vector<std::uint32_t>, std::vector<TwoGroups>> alike;
    for (const TwoGroups& groups : two) alike[groups.slower].push_back(groups);
    for (const auto& [slower, groups] : alike) out_.not_judged.push_back(words_.groups(groups));
    if (slice_.screening.empty()) {
      out_.not_judged.push_back(fmt::format("{}: no measurement gave a value.", words_.subject()));
    } else if (!std::isfinite(fit_.sigma)) {
      out_.not_judged.push_back(fmt::format(
          "{}: {} measurements are too few to distinguish effects of nodes from chance; measure "
          "more rounds, with at least {} partners of each node.",
          words_.subject(), slice_.screening.size(), kMinPartners));
    }
  }

  void summarize_rails() {
    std::vector<double> rails;
    for (std::uint32_t rail = 0; rail < slice_.rails; ++rail) {
      if (fit_.cells[rail] > 0) rails.push_back(fit_.typical[rail]);
    }
    Typical typical{slice_.metric, slice_.size_bytes};
    typical.cells = slice_.measured;
    typical.failed = static_cast<std::uint32_t>(slice_.failed.size());
    if (!rails.empty()) {
      std::sort(rails.begin(), rails.end());
      const double reference = rails[rails.size() / 2];
      typical.value = std::exp(slice_.metric == Metric::latency ? -reference : reference);
      typical.noise = std::isfinite(fit_.sigma) ? fit_.sigma : 0;
      for (std::uint32_t rail = 0; rail < slice_.rails; ++rail) {
        if (fit_.cells[rail] == 0) continue;
        out_.rails.push_back({slice_.metric, slice_.size_bytes, rail,
                              ratio_of(slice_.metric, fit_.typical[rail] - reference)});
      }
    }
    out_.typical.push_back(typical);
  }

  void summarize_nodes(bool ambiguous, const std::vector<EndSuspect>& ends,
                       const std::set<std::uint32_t>& failing) {
    std::size_t thin = 0;
    std::set<std::uint32_t> lost;
    for (const LostNode& node : matrix_.lost) lost.insert(node.rank);
    std::map<std::uint32_t, State> accused;
    for (const EndSuspect& end : ends) {
      if (end.state == State::open && end.score < kScore) continue;
      State& state = accused.try_emplace(end.node, end.state).first->second;
      if (end.state == State::confirmed) state = end.state;
    }
    for (std::uint32_t rank = 0; rank < slice_.nodes; ++rank) {
      const Pooled sends = pooled(slice_, fit_, Direction::sending, rank);
      const Pooled receives = pooled(slice_, fit_, Direction::receiving, rank);
      NodeSummary node{slice_.metric, slice_.size_bytes, rank};
      if (sends.cells > 0) node.sender_ratio = ratio_of(slice_.metric, sends.value);
      if (receives.cells > 0) node.receiver_ratio = ratio_of(slice_.metric, receives.value);
      node.partners = std::min(sends.partners, receives.partners);
      const auto state = accused.find(rank);
      const bool enough = node.partners >= kMinPartners && std::isfinite(fit_.sigma);
      node.verdict = lost.count(rank) != 0      ? Verdict::lost
                     : failing.count(rank) != 0 ? Verdict::failing
                     : state != accused.end()
                         ? state->second == State::confirmed ? Verdict::slow : Verdict::suspect
                     : !enough   ? Verdict::not_enough_evidence
                     : ambiguous ? Verdict::ambiguous
                                 : Verdict::good;
      thin += node.verdict == Verdict::not_enough_evidence ? 1U : 0U;
      out_.nodes.push_back(node);
    }
    if (thin > 0 && slice_.nodes > 2) {
      out_.not_judged.push_back(fmt::format(
          "{}: {} of {} nodes have fewer than {} partners in a direction, or nothing to compare "
          "them with, and are not judged.",
          words_.subject(), thin, slice_.nodes, kMinPartners));
    }
  }

  const Matrix& matrix_;
  const Slice& slice_;
  Attribution& out_;
  Fit fit_;
  Words words_;
};

void sort_worst_first(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (a.confirmed != b.confirmed) return a.confirmed;
    return a.score > b.score;
  });
}

}  // namespace

std::string_view action_of(const Finding& finding) noexcept {
  if (finding.ratio == 0) return "run doctor";  // measurements failed
  switch (finding.part) {
    case Part::node:
      return finding.rail ? "replace cable" : "run doctor";
    case Part::between:
    case Part::link:
    case Part::cable:
      return "replace cable";
    case Part::switch_point:
      return "ask vendor";
    case Part::sender:
    case Part::receiver:
    case Part::rail:
    case Part::route:
      break;
  }
  return "change setting";
}

std::string_view name(Part part) noexcept {
  return kParts[static_cast<std::size_t>(part)];
}
std::string_view name(Verdict verdict) noexcept {
  return kVerdicts[static_cast<std::size_t>(verdict)];
}

Attribution attribute(const Matrix& matrix, const Topology* topology) {
  Attribution out;
  std::size_t left_out = 0;
  std::uint32_t rails = 0;
  std::vector<Slice> all = slices(matrix, left_out);
  std::optional<Paths> paths;
  if (topology != nullptr && !all.empty()) {
    paths.emplace(*topology, matrix.nodes, all.front().rails);
    out.crossed = crossed_links(matrix, *paths, out);
  }
  for (Slice& slice : all) {
    if (paths) judge_links(slice, *paths, out);
    SliceJudge(matrix, slice, out).run();
    rails = slice.rails;
  }
  sort_worst_first(out.findings);
  sort_worst_first(out.leads);
  if (matrix.nodes.size() == 2) {
    out.not_judged.insert(
        out.not_judged.begin(),
        "Two nodes: a slow node cannot be distinguished from its partner or the path; compare "
        "the values with the line rate, or add a third and a fourth node.");
  }
  if (rails == 1) {
    out.not_judged.emplace_back(
        "One rail: a slow rail cannot be distinguished from a slow fabric; compare the typical "
        "value with the line rate.");
  }
  if (left_out > 0) {
    out.not_judged.push_back(fmt::format(
        "{} measurements of one-to-many and many-to-one patterns are not part of the model, because "
        "many flows share an end there.",
        left_out));
  }
  return out;
}

std::vector<Typical> unjudged(const Attribution& attribution) {
  std::vector<Typical> open;
  for (const Typical& slice : attribution.typical) {
    bool judged = false;
    bool ambiguous = false;
    for (const NodeSummary& node : attribution.nodes) {
      if (node.metric != slice.metric || node.size_bytes != slice.size_bytes) continue;
      ambiguous |= node.verdict == Verdict::ambiguous;
      judged |= node.verdict != Verdict::ambiguous && node.verdict != Verdict::lost &&
                node.verdict != Verdict::not_enough_evidence;
    }
    if (!judged || ambiguous || slice.value == 0) open.push_back(slice);
  }
  return open;
}

}  // namespace rdmabench::inline v1::fabric

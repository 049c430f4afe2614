#include "attribution_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/listed.h"
#include "fabric/verdict_words.h"
#include "measure/ranks.h"
#include "rdmabench/base/units.h"
#include "report/fabric_document.h"
#include "results/number_column.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::size_t kMostListed = 16;  // ranks

constexpr std::string_view kNextNode =
    "Run rdmabench doctor there: port rate, PCIe width and speed, CPU; then change its cable or "
    "transceiver.";
constexpr std::string_view kNextSender =
    "Only its sending is slow: look at how the device reads memory (PCIe width, MaxReadReq, "
    "relaxed ordering, IOMMU, the buffers' NUMA node) and at congestion notices and pauses it got.";
constexpr std::string_view kNextReceiver =
    "Only its receiving is slow: look at how the device writes memory (PCIe width, IOMMU, the "
    "buffers' NUMA node), at its discards, and at pauses it sent.";
constexpr std::string_view kNextPort =
    "Its other rails are not: look at the cable, transceiver, switch port and PCIe slot of this "
    "one.";
constexpr std::string_view kNextRail =
    "Every node has it there: look at this rail's switches and uplinks, their MTU and QoS, and at "
    "how the devices of this rail are set.";
constexpr std::string_view kNextRoute =
    "Its ends are clean with others: look at the path between them: the hash or routing table that "
    "puts it on a shared or broken link, and the counters of the switches' ports.";
constexpr std::string_view kNextFailing =
    "See the error, and run rdmabench doctor on the nodes named.";

std::string verb(Direction direction) {
  return direction == Direction::sending ? "sends" : "receives";
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

double ratio_of(Metric metric, double effect) {
  return std::exp(metric == Metric::latency ? -effect : effect);
}

double Words::ratio(double effect) const {
  return ratio_of(slice_.metric, effect);
}

std::string subject(Metric metric, std::uint64_t size_bytes) {
  return fmt::format("{} of {}", name(metric), format_size(size_bytes));
}

std::string Words::subject() const {
  return fabric::subject(slice_.metric, slice_.size_bytes);
}

std::string Words::rail_name(std::uint32_t rail, std::uint32_t rank) const {
  const auto& rails = matrix_.nodes[rank].rails;
  if (rail >= rails.size() || rails[rail].empty()) return fmt::format("rail {}", rail);
  std::string_view device = rails[rail];
  for (const Measurement& one : matrix_.measurements) {
    if (device != "auto") break;
    if (one.sender != rank || one.rail != rail) continue;
    if (const auto taken = report::device_of(one.over); !taken.empty()) device = taken;
  }
  return fmt::format("rail {} ({})", rail, device);
}

std::string Words::value(double log_value) const {
  return slice_.metric == Metric::bandwidth ? report::rate_text(std::exp(log_value))
                                            : report::time_text(std::exp(-log_value));
}

std::string Words::of_typical(double effect, double typical) const {
  return fmt::format("{:.2f} {} the typical {}", ratio(effect),
                     slice_.metric == Metric::latency ? "times" : "of", value(typical));
}

Finding Words::start(Part part, std::uint32_t a, double effect, double score, State state) const {
  Finding finding;
  finding.metric = slice_.metric;
  finding.size_bytes = slice_.size_bytes;
  finding.part = part;
  finding.a = a;
  finding.ratio = ratio(effect);
  finding.score = score;
  finding.confirmed = state == State::confirmed;
  return finding;
}

/// "sends at 0.90 of the typical 392 Gb/s to 5 of 5 partners"
std::string Words::end_clause(const EndSuspect& end) const {
  const bool sends = end.direction == Direction::sending;
  const auto& partner_effects = fit_.effects(sends ? Direction::receiving : Direction::sending);
  std::map<std::uint32_t, std::vector<double>> by_partner;
  double typical = 0;
  std::size_t cells = 0;
  for (const Cell& cell : slice_.screening) {
    if ((sends ? cell.sender : cell.receiver) != end.node) continue;
    if (end.rail && *end.rail != cell.rail) continue;
    const std::uint32_t partner = sends ? cell.receiver : cell.sender;
    by_partner[partner].push_back(cell.y - fit_.typical[cell.rail] -
                                  partner_effects[slice_.port(cell.rail, partner)].value);
    typical += fit_.typical[cell.rail];
    ++cells;
  }
  const auto slow = std::count_if(by_partner.begin(), by_partner.end(), [&](auto& entry) {
    return measure::middle(entry.second) <= end.effect / 2;
  });
  return fmt::format(
      "{} at {} {} {} of {}", verb(end.direction),
      of_typical(end.effect, typical / static_cast<double>(std::max<std::size_t>(cells, 1))),
      sends ? "to" : "from", slow, plural(by_partner.size(), "partner"));
}

std::string Words::other_direction(const EndSuspect& end) const {
  const Direction direction =
      end.direction == Direction::sending ? Direction::receiving : Direction::sending;
  double effect = 0;
  if (end.rail) {
    const Effect& port = fit_.effects(direction)[slice_.port(*end.rail, end.node)];
    if (port.cells == 0) return {};
    effect = port.value;
  } else {
    const Pooled all = pooled(slice_, fit_, direction, end.node);
    if (all.cells == 0) return {};
    effect = all.value;
  }
  return fmt::format("{} at {:.2f}", verb(direction), ratio(effect));
}

Finding Words::ends(const std::vector<EndSuspect>& ends) const {
  const EndSuspect& first = ends.front();
  double effect = 0;
  double score = 0;
  for (const EndSuspect& end : ends) {
    effect += end.effect / static_cast<double>(ends.size());
    score += end.score / std::sqrt(static_cast<double>(ends.size()));
  }
  const Part one = first.direction == Direction::sending ? Part::sender : Part::receiver;
  Finding finding =
      start(ends.size() == 2 ? Part::node : one, first.node, effect, score, first.state);
  finding.rail = first.rail;
  for (const EndSuspect& end : ends) {
    finding.evidence.push_back(end_clause(end) + fmt::format(" (score {:.1f})", end.score));
    if (end.test.cells == 0) continue;
    finding.evidence.push_back(
        fmt::format("{} at {:.2f} in {} confirming measurements with {} known-good partners, by "
                    "themselves (score {:.1f})",
                    verb(end.direction), ratio(end.test.effect), end.test.cells, end.test.partners,
                    end.test.score));
  }
  std::string what = end_clause(first);
  if (ends.size() == 2) {
    what += " and " + end_clause(ends.back());
  } else if (const std::string rest = other_direction(first); !rest.empty()) {
    finding.evidence.push_back(rest);
    what += "; " + rest;
  }
  std::string_view next = kNextNode;
  if (ends.size() == 1) next = one == Part::sender ? kNextSender : kNextReceiver;
  if (first.rail) {
    what += " over " + rail_name(*first.rail, first.node);
    if (ends.size() == 2 && slice_.rails > 1) next = kNextPort;
  }
  finding.text =
      fmt::format("{}, {}: {}. {}", node_name(matrix_, first.node), subject(), what, next);
  return finding;
}

Finding Words::rail(const RailSuspect& suspect) const {
  Finding finding = start(Part::rail, suspect.rail, suspect.effect, suspect.score, suspect.state);
  finding.rail = suspect.rail;
  const double limit = fit_.typical[suspect.reference] + suspect.effect / 2;
  std::map<std::uint32_t, std::vector<double>> by_node;
  for (const Cell& cell : slice_.screening) {
    if (cell.rail != suspect.rail) continue;
    by_node[cell.sender].push_back(cell.y);
    by_node[cell.receiver].push_back(cell.y);
  }
  const auto slow = std::count_if(by_node.begin(), by_node.end(), [&](auto& entry) {
    return measure::middle(entry.second) <= limit;
  });
  const std::string what = fmt::format("{} of rail {}, on {} of {} nodes",
                                       of_typical(suspect.effect, fit_.typical[suspect.reference]),
                                       suspect.reference, slow, by_node.size());
  finding.evidence.push_back(what + fmt::format(" (score {:.1f})", suspect.score));
  if (suspect.test.cells > 0) {
    finding.evidence.push_back(
        fmt::format("at {:.2f} of it in {} confirming measurements of the same pairs on both, by "
                    "themselves (score {:.1f})",
                    ratio(suspect.test.effect), suspect.test.cells, suspect.test.score));
  }
  finding.text = fmt::format("rail {}, {}: {}. {}", suspect.rail, subject(), what, kNextRail);
  return finding;
}

Finding Words::route(const std::vector<RouteSuspect>& rails, bool all_rails) const {
  const RouteSuspect& first = rails.front();
  std::vector<double> effects;
  double score = 0;
  for (const RouteSuspect& route : rails) {
    effects.push_back(route.effect);
    score = std::max(score, route.score);
  }
  const double effect = measure::middle(effects);
  Finding finding = start(Part::route, first.sender, effect, score, first.state);
  finding.b = first.receiver;
  if (!all_rails) finding.rail = first.rail;
  const std::string what =
      fmt::format("{} to {} at {}{}", node_name(matrix_, first.sender),
                  node_name(matrix_, first.receiver), of_typical(effect, fit_.typical[first.rail]),
                  all_rails && slice_.rails > 1 ? std::string(" on every rail")
                                                : " over " + rail_name(first.rail, first.sender));
  for (const RouteSuspect& route : rails) {
    finding.evidence.push_back(
        fmt::format("rail {}: {:.2f} of what its ends reach with others (score {:.1f})", route.rail,
                    ratio(route.effect), route.score));
    if (route.test.cells == 0) continue;
    finding.evidence.push_back(fmt::format(
        "rail {}: measured again in {}: {:.2f}{}", route.rail, plural(route.test.cells, "round"),
        ratio(route.test.effect),
        route.chance < 1 ? fmt::format(", slow in all (by chance: {:.2g})", route.chance)
                         : std::string()));
    if (route.legs < 2) continue;
    finding.evidence.push_back(
        fmt::format("rail {}: the same sender to others {:.2f}, others to the same receiver {:.2f}",
                    route.rail, ratio(route.from), ratio(route.to)));
  }
  finding.text = fmt::format("route, {}: {}. {}", subject(), what, kNextRoute);
  return finding;
}

Finding Words::failing(const Failing& part) const {
  Finding finding = start(part.part, part.a, 0, 0, State::open);
  finding.b = part.b;
  finding.rail = part.rail;
  finding.ratio = 0;
  finding.score = 1e6;
  finding.confirmed = part.part != Part::route || part.failed > 1;
  std::string who = node_name(matrix_, part.a);
  if (part.part == Part::sender) who += " as sender";
  if (part.part == Part::receiver) who += " as receiver";
  if (part.b) who += " to " + node_name(matrix_, *part.b);
  if (part.rail) who += " over " + rail_name(*part.rail, part.a);
  const std::string what = fmt::format("{} of {} measurements failed, with {}", part.failed,
                                       part.tried, plural(part.partners, "partner"));
  finding.evidence = {what, "first error: " + part.error};
  finding.text = fmt::format("{}, {}: {}. {}", who, subject(), what, kNextFailing);
  return finding;
}

std::string Words::block(const std::vector<std::uint32_t>& senders,
                         const std::vector<std::uint32_t>& receivers, std::size_t slow,
                         std::size_t measured) {
  return fmt::format(
      "part of a block: {} of {} measured pairs from nodes {} to nodes {} are slow, as over a link "
      "that they share",
      slow, measured, listed(senders, kMostListed), listed(receivers, kMostListed));
}

std::string Words::groups(const std::vector<TwoGroups>& alike) const {
  const TwoGroups& first = alike.front();
  std::vector<std::string> where;
  where.reserve(alike.size());
  for (const TwoGroups& groups : alike) {
    where.push_back(fmt::format("{} on rail {}",
                                groups.direction == Direction::sending ? "sending" : "receiving",
                                groups.rail));
  }
  return fmt::format(
      "{}: {} of {} nodes are at {:.2f} of the others ({}), so there is no majority to call typical "
      "and neither group is called slow; compare both with the line rate. Slower: {}.",
      subject(), first.slower.size(), first.slower.size() + first.others, first.ratio,
      fmt::join(where, ", "), listed(first.slower, kMostListed));
}

std::string Words::too_many_routes(std::size_t count) const {
  return fmt::format(
      "{}: {} pairs are slower than their ends with others, of {} measurements: too many for bad "
      "routes, more like distance (hops) or congestion, so they are not listed.",
      subject(), count, slice_.screening.size());
}

std::string Words::most_failed() const {
  const std::string& error = *slice_.failed.front().error;
  return fmt::format(
      "{}: {} of {} measurements failed, too many to blame nodes for; the first error: {}{}",
      subject(), slice_.failed.size(), slice_.measured + slice_.failed.size(), error,
      error.ends_with('.') ? "" : ".");
}

}  // namespace rdmabench::inline v1::fabric

#include "paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/refuse.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::uint32_t kNowhere = ~0U;
constexpr std::uint32_t kMostHops = 64;
constexpr double kEnough = 4;  // pairs over one direction of a link

std::string first_label(const std::string& text) {
  return text.substr(0, text.find_first_of(". \t"));
}

std::uint32_t other_end(const TopologyLink& link, std::uint32_t point) {
  return link.a == point ? link.b : link.a;
}

/// The parts of a topology, which no link joins.
struct Parts {
  std::vector<std::uint32_t> of;      ///< by point; kNowhere: a host, a switch far from any
  std::vector<std::uint32_t> height;  ///< hops from the nearest host
  std::vector<std::uint32_t> tops;    ///< by part: the greatest height
  std::vector<bool> below;            ///< by point: a switch of a hierarchy is above it
  std::set<std::uint32_t> ordered;    ///< parts with such a switch

  /// Branches of a hierarchy may have different heights.
  bool is_top(std::uint32_t point) const {
    return ordered.contains(of[point]) ? !below[point] : height[point] == tops[of[point]];
  }
};

Parts find_parts(const Topology& topology, const std::vector<std::vector<std::uint32_t>>& links) {
  const std::size_t count = topology.points.size();
  Parts parts{.of = std::vector(count, kNowhere),
              .height = std::vector(count, kNowhere),
              .tops = {},
              .below = std::vector<bool>(count),
              .ordered = {}};
  std::deque<std::uint32_t> next;
  const auto spread = [&](auto&& visit) {  // breadth first, over switches
    for (; !next.empty(); next.pop_front()) {
      for (const std::uint32_t link : links[next.front()]) {
        const std::uint32_t there = other_end(topology.links[link], next.front());
        if (!topology.points[there].host && visit(next.front(), there)) next.push_back(there);
      }
    }
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!topology.points[i].host) continue;
    parts.height[i] = 0;
    next.push_back(i);
  }
  spread([&](std::uint32_t here, std::uint32_t there) {
    if (parts.height[there] != kNowhere) return false;
    parts.height[there] = parts.height[here] + 1;
    return true;
  });
  for (std::uint32_t i = 0; i < count; ++i) {
    if (topology.points[i].host || parts.height[i] == kNowhere || parts.of[i] != kNowhere) continue;
    const auto own = static_cast<std::uint32_t>(parts.tops.size());
    parts.tops.push_back(0);
    const auto enter = [&](std::uint32_t /*here*/, std::uint32_t there) {
      if (parts.of[there] != kNowhere) return false;
      parts.of[there] = own;
      parts.tops[own] = std::max(parts.tops[own], parts.height[there]);
      return true;
    };
    enter(i, i);
    next.push_back(i);
    spread(enter);
  }
  for (const TopologyLink& link : topology.links) {
    // Without ports it is of a hierarchy, whose links lead up.
    if (topology.points[link.a].host || !link.a_port.empty() || !link.b_port.empty()) continue;
    parts.below[link.a] = true;
    parts.ordered.insert(parts.of[link.a]);
  }
  return parts;
}

}  // namespace

Paths::Paths(const Topology& topology, const std::vector<Node>& nodes, std::uint32_t rails)
    : topology_(topology), links_(topology.points.size()) {
  for (std::uint32_t i = 0; i < topology.links.size(); ++i) add_link(i);
  for (const Node& node : nodes) {
    std::vector<std::uint32_t>& points = at_.emplace_back(rails, kNowhere);
    if (node.host.empty()) continue;
    for (std::uint32_t rail = 0; rail < rails; ++rail) {
      points[rail] = find_adapter(node, rail, rails);
    }
  }
  join(rails);
  std::map<std::uint32_t, std::set<std::uint32_t>> ranks;  // by switch
  for (std::uint32_t rank = 0; rank < at_.size(); ++rank) {
    for (const std::uint32_t point : at_[rank]) {
      if (point == kNowhere) continue;
      for (const std::uint32_t link : links_[point]) {
        const std::uint32_t leaf = other_end(topology.links[link], point);
        if (ranks[leaf].insert(rank).second && ranks[leaf].size() == 2) leaves_.insert(leaf);
      }
    }
  }
}

void Paths::add_link(std::uint32_t link) {
  links_[topology().links[link].a].push_back(link);
  links_[topology().links[link].b].push_back(link);
}

void Paths::join(std::uint32_t rails) {
  const Parts parts = find_parts(topology_, links_);
  std::set<std::uint32_t> wanted;  // parts, of which another has nodes of the same rail
  for (std::uint32_t rail = 0; rail < rails; ++rail) {
    std::set<std::set<std::uint32_t>> all;  // of each node: the parts of its switches
    for (const std::vector<std::uint32_t>& points : at_) {
      std::set<std::uint32_t> own;
      if (points[rail] == kNowhere) continue;
      for (const std::uint32_t link : links_[points[rail]]) {
        own.insert(parts.of[other_end(topology_.links[link], points[rail])]);
      }
      own.erase(kNowhere);  // a host
      if (!own.empty()) all.insert(own);
    }
    for (const auto& one : all) {
      const bool cut = std::any_of(all.begin(), all.end(), [&](const auto& other) {
        return std::none_of(one.begin(), one.end(),
                            [&](std::uint32_t of) { return other.count(of) != 0; });
      });
      if (cut) wanted.insert(one.begin(), one.end());
    }
  }
  if (wanted.empty()) return;
  joined_.emplace();  // without the tables, which lead nowhere outside their part
  joined_->points = topology_.points;
  joined_->links = topology_.links;
  above_ = static_cast<std::uint32_t>(topology_.points.size());
  joined_->points.push_back({"what is above", false});
  links_.emplace_back();
  for (std::uint32_t i = 0; i < above_; ++i) {
    if (wanted.count(parts.of[i]) == 0 || !parts.is_top(i)) continue;
    joined_->links.push_back({i, above_, "", ""});
    add_link(static_cast<std::uint32_t>(joined_->links.size() - 1));
  }
}

/// What is above leads from part to part, and to none back.
bool Paths::forwards(std::uint32_t point) const {
  return point != above_ && !topology().points[point].host;
}

std::uint32_t Paths::find_adapter(const Node& node, std::uint32_t rail, std::uint32_t rails) const {
  const std::string host = first_label(node.host);
  const std::string named = rail < node.rails.size() ? node.rails[rail] : "";
  const std::string device = named.substr(0, named.find(':'));
  const std::string interface = rail < node.interfaces.size() ? node.interfaces[rail] : "";
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < topology_.points.size(); ++i) {
    const TopologyPoint& point = topology_.points[i];
    if (point.host && first_label(point.name) == host) found.push_back(i);
  }
  refuse_if(
      found.empty(), fmt::format("rank {} runs on {}, which the topology lacks", node.rank, host),
      "Give the topology of all nodes of the run, with the names that their hostname prints.");
  if (found.size() == 1) return found.front();
  const auto adapter = [this](std::uint32_t point) {
    const std::string& name = topology_.points[point].name;
    return name.substr(std::min(name.find(' '), name.size() - 1) + 1);
  };
  for (const std::string& by : {device, interface}) {
    const auto is = [&](std::uint32_t point) { return !by.empty() && adapter(point) == by; };
    if (std::count_if(found.begin(), found.end(), is) == 1) {
      return *std::find_if(found.begin(), found.end(), is);
    }
  }
  const bool any_named = std::any_of(found.begin(), found.end(), [&](std::uint32_t point) {
    const auto is = [&](const std::string& name) {
      return !name.empty() && name.substr(0, name.find(':')) == adapter(point);
    };
    return std::any_of(node.rails.begin(), node.rails.end(), is) ||
           std::any_of(node.interfaces.begin(), node.interfaces.end(), is);
  });
  // Of ibnetdiscover, which has them in any order: HCA-1, HCA-2, ... HCA-10.
  std::sort(found.begin(), found.end(), [this](std::uint32_t a, std::uint32_t b) {
    const auto order = [this](std::uint32_t point) {
      const std::string& name = topology_.points[point].name;
      return std::pair(name.size(), name);
    };
    return order(a) < order(b);
  });
  if (found.size() == rails && !any_named) return found[rail];
  throw Error(Fault::usage,
              fmt::format("{} has {} adapters in the topology, and none is called {}", host,
                          found.size(), device.empty() ? "as its device" : device),
              "Name the devices by `rails`, or leave other networks out of the topology.");
}

bool Paths::between_switches(std::uint32_t link) const {
  const TopologyLink& one = topology().links[link];
  return !topology().points[one.a].host && !topology().points[one.b].host;
}

std::optional<std::uint32_t> Paths::only_switch(const std::vector<Crossing>& path) const {
  if (path.size() != 2) return std::nullopt;
  const TopologyLink& first = topology().links[path[0].link];
  return path[0].forward ? first.b : first.a;
}

std::string Paths::name(std::uint32_t link, bool forward) const {
  const TopologyLink& one = topology().links[link];
  const auto end = [&](std::uint32_t point, const std::string& port) {
    const std::string& label = topology().points[point].name;
    return port.empty() ? label : fmt::format("{} port {}", label, port);
  };
  const std::string a = end(one.a, one.a_port);
  const std::string b = end(one.b, one.b_port);
  return forward ? a + " to " + b : b + " to " + a;
}

const Paths::Tree& Paths::tree_to(std::uint32_t to) const {
  const auto [found, added] = trees_.try_emplace(to);
  Tree& tree = found->second;
  if (!added) return tree;
  tree.hops.assign(topology().points.size(), kNowhere);
  tree.ways.assign(topology().points.size(), 0);
  tree.hops[to] = 0;
  tree.ways[to] = 1;
  std::deque<std::uint32_t> next{to};
  while (!next.empty()) {
    const std::uint32_t here = next.front();
    next.pop_front();
    if (here != to && !forwards(here)) continue;
    for (const std::uint32_t link : links_[here]) {
      const std::uint32_t there = other_end(topology().links[link], here);
      if (tree.hops[there] == kNowhere) {
        tree.hops[there] = tree.hops[here] + 1;
        next.push_back(there);
      }
      if (tree.hops[there] == tree.hops[here] + 1) tree.ways[there] += tree.ways[here];
    }
  }
  return tree;
}

/// False where a table has no entry, or loops.
bool Paths::follow_tables(std::uint32_t from, std::uint32_t to, std::vector<Crossing>& out) const {
  std::uint32_t here = from;
  for (std::uint32_t hop = 0; hop < kMostHops && here != to; ++hop) {
    std::uint32_t link = kNowhere;
    if (topology_.points[here].host) {
      if (here != from || links_[here].size() != 1) return false;
      link = links_[here].front();
    } else {
      const auto entry = topology_.forwarding.find({here, to});
      if (entry == topology_.forwarding.end()) return false;
      link = entry->second;
    }
    out.push_back({link, topology_.links[link].a == here, 1});
    here = other_end(topology_.links[link], here);
  }
  return here == to;
}

/// The switch of a host with one link, else the host itself.
std::uint32_t Paths::next_to(std::uint32_t host) const {
  return links_[host].size() == 1 ? other_end(topology_.links[links_[host][0]], host) : host;
}

std::vector<Crossing> Paths::between(std::uint32_t sender, std::uint32_t receiver,
                                     std::uint32_t rail) const {
  const std::uint32_t from = at_[sender][rail];
  const std::uint32_t to = at_[receiver][rail];
  std::vector<Crossing> out;
  if (from == kNowhere || to == kNowhere || from == to) return out;
  if (!topology_.forwarding.empty() && follow_tables(from, to, out)) return out;
  out.clear();
  // Hosts of one switch share what leads to it: one tree for each switch and not for each host.
  const std::uint32_t first = next_to(from);
  const std::uint32_t last = next_to(to);
  const bool apart = tree_to(last).hops[first] == kNowhere;
  if (apart && (above_ == kNowhere || tree_to(above_).hops[first] == kNowhere ||
                tree_to(last).hops[above_] == kNowhere)) {
    return out;
  }
  const auto own = [&](std::uint32_t host, bool up) {
    const std::uint32_t link = links_[host][0];
    out.push_back({link, (topology_.links[link].a == host) == up, 1});
  };
  if (first != from) own(from, true);
  if (apart) shortest(first, above_, out);
  shortest(apart ? above_ : first, last, out);
  if (last != to) own(to, false);
  return out;
}

bool Paths::is_cut(std::uint32_t sender, std::uint32_t receiver, std::uint32_t rail) const {
  const std::uint32_t from = at_[sender][rail];
  const std::uint32_t to = at_[receiver][rail];
  return from != kNowhere && to != kNowhere && from != to &&
         between(sender, receiver, rail).empty();
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> Paths::apart(std::uint32_t sender,
                                                                    std::uint32_t receiver,
                                                                    std::uint32_t rail) const {
  const std::uint32_t from = at_[sender][rail];
  const std::uint32_t to = at_[receiver][rail];
  if (above_ == kNowhere || from == kNowhere || to == kNowhere || from == to) return std::nullopt;
  const std::pair found{next_to(from), next_to(to)};
  if (tree_to(found.second).hops[found.first] != kNowhere) return std::nullopt;
  return found;
}

void Paths::shortest(std::uint32_t from, std::uint32_t to, std::vector<Crossing>& out) const {
  const Tree& tree = tree_to(to);
  std::map<std::uint32_t, double> shares{{from, 1.0}};  // of the points at one distance
  for (std::uint32_t left = tree.hops[from]; left > 0; --left) {
    std::map<std::uint32_t, double> nearer;
    for (const auto& [here, share] : shares) {
      for (const std::uint32_t link : links_[here]) {
        const std::uint32_t there = other_end(topology().links[link], here);
        if (tree.hops[there] + 1 != left || (!forwards(there) && there != to)) continue;
        const double part = share * tree.ways[there] / tree.ways[here];
        out.push_back({link, topology().links[link].a == here, part});
        nearer[there] += part;
      }
    }
    shares = std::move(nearer);
  }
}

std::vector<Round> covering(std::vector<Round> all, std::uint32_t rounds, const Paths& paths,
                            std::uint32_t rails) {
  constexpr std::size_t kMostTried = 512;
  if (all.size() > kMostTried) all.resize(std::max<std::size_t>(kMostTried, rounds));
  const std::size_t directions = 2 * paths.topology().links.size();
  // By round: directions, and leaves after them, each with its share.
  std::vector<std::vector<std::pair<std::size_t, double>>> crossed;
  for (const Round& round : all) {
    std::vector<std::pair<std::size_t, double>>& list = crossed.emplace_back();
    for (const Step& step : round.steps) {
      for (const Pair& pair : step) {
        for (std::uint32_t rail = 0; rail < rails; ++rail) {
          const std::vector<Crossing> path = paths.between(pair.sender, pair.receiver, rail);
          if (const auto leaf = paths.only_switch(path)) list.emplace_back(directions + *leaf, 1);
          for (const Crossing& one : path) {
            if (!paths.between_switches(one.link)) continue;
            list.emplace_back(2 * one.link + (one.forward ? 1 : 0), one.share);
          }
        }
      }
    }
  }
  std::vector<double> counts(directions + paths.topology().points.size(), 0);
  std::vector<bool> taken(all.size(), false);
  std::vector<Round> chosen;
  while (chosen.size() < std::min<std::size_t>(rounds, all.size())) {
    std::size_t best = all.size();
    double most = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (taken[i]) continue;
      double gain = 0;
      std::vector<double> now = counts;
      for (const auto& [part, share] : crossed[i]) {
        gain += std::clamp(kEnough - now[part], 0.0, share);
        now[part] += share;
      }
      if (best != all.size() && gain <= most) continue;
      best = i;
      most = gain;
    }
    taken[best] = true;
    for (const auto& [part, share] : crossed[best]) counts[part] += share;
    chosen.push_back(std::move(all[best]));
  }
  return chosen;
}

}  // namespace rdmabench::inline v1::fabric

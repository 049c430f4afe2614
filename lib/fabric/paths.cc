#include "paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "rdmabench/base/error.h"

namespace rdmabench::fabric {
namespace {

constexpr std::uint32_t kNowhere = ~0U;
constexpr std::uint32_t kMostHops = 64;
constexpr std::uint32_t kEnough = 4;  // pairs over one direction of a link

std::string first_label(const std::string& text) {
  return text.substr(0, text.find_first_of(". \t"));
}

std::uint32_t other_end(const TopologyLink& link, std::uint32_t point) {
  return link.a == point ? link.b : link.a;
}

}  // namespace

Paths::Paths(const Topology& topology, const std::vector<Node>& nodes, std::uint32_t rails)
    : topology_(topology), links_(topology.points.size()) {
  for (std::uint32_t i = 0; i < topology.links.size(); ++i) {
    links_[topology.links[i].a].push_back(i);
    links_[topology.links[i].b].push_back(i);
  }
  for (const Node& node : nodes) {
    std::vector<std::uint32_t>& points = at_.emplace_back(rails, kNowhere);
    if (node.host.empty()) continue;
    for (std::uint32_t rail = 0; rail < rails; ++rail) {
      points[rail] = find_adapter(node, rail, rails);
    }
  }
  std::map<std::uint32_t, std::set<std::uint32_t>> ranks;  // by switch
  for (std::uint32_t rank = 0; rank < at_.size(); ++rank) {
    for (const std::uint32_t point : at_[rank]) {
      if (point == kNowhere || links_[point].size() != 1) continue;
      const std::uint32_t leaf = other_end(topology.links[links_[point][0]], point);
      if (ranks[leaf].insert(rank).second && ranks[leaf].size() == 2) leaves_.insert(leaf);
    }
  }
}

std::uint32_t Paths::find_adapter(const Node& node, std::uint32_t rail, std::uint32_t rails) const {
  const std::string host = first_label(node.host);
  const std::string named = rail < node.rails.size() ? node.rails[rail] : "";
  const std::string device = named.substr(0, named.find(':'));
  std::vector<std::uint32_t> found;
  std::vector<std::uint32_t> by_device;
  for (std::uint32_t i = 0; i < topology_.points.size(); ++i) {
    const TopologyPoint& point = topology_.points[i];
    if (!point.host || first_label(point.name) != host) continue;
    found.push_back(i);
    const std::size_t blank = point.name.find(' ');
    if (blank != std::string::npos && point.name.substr(blank + 1) == device)
      by_device.push_back(i);
  }
  if (found.empty()) {
    throw Error(
        Fault::usage, fmt::format("rank {} runs on {}, which the topology lacks", node.rank, host),
        "Give the topology of all nodes of the run, with the names that their hostname prints.");
  }
  if (by_device.size() == 1) return by_device.front();
  if (found.size() == 1) return found.front();
  if (found.size() == rails) return found[rail];
  throw Error(Fault::usage,
              fmt::format("{} has {} adapters in the topology, and none is called {}", host,
                          found.size(), device.empty() ? "as its device" : device),
              "Name the devices by `rails`, as the topology does.");
}

bool Paths::between_switches(std::uint32_t link) const {
  const TopologyLink& one = topology_.links[link];
  return !topology_.points[one.a].host && !topology_.points[one.b].host;
}

std::optional<std::uint32_t> Paths::only_switch(const std::vector<Crossing>& path) const {
  if (path.size() != 2) return std::nullopt;
  const TopologyLink& first = topology_.links[path[0].link];
  return path[0].forward ? first.b : first.a;
}

std::string Paths::name(std::uint32_t link, bool forward) const {
  const TopologyLink& one = topology_.links[link];
  const auto end = [&](std::uint32_t point, const std::string& port) {
    const std::string& label = topology_.points[point].name;
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
  tree.hops.assign(topology_.points.size(), kNowhere);
  tree.ways.assign(topology_.points.size(), 0);
  tree.hops[to] = 0;
  tree.ways[to] = 1;
  std::deque<std::uint32_t> next{to};
  while (!next.empty()) {
    const std::uint32_t here = next.front();
    next.pop_front();
    if (here != to && topology_.points[here].host) continue;  // hosts do not forward
    for (const std::uint32_t link : links_[here]) {
      const std::uint32_t there = other_end(topology_.links[link], here);
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

std::vector<Crossing> Paths::between(std::uint32_t sender, std::uint32_t receiver,
                                     std::uint32_t rail) const {
  const std::uint32_t from = at_[sender][rail];
  const std::uint32_t to = at_[receiver][rail];
  std::vector<Crossing> out;
  if (from == kNowhere || to == kNowhere || from == to) return out;
  if (!topology_.forwarding.empty() && follow_tables(from, to, out)) return out;
  out.clear();
  // Hosts of one switch share what leads to it: one tree for each switch and not for each host.
  const bool from_one = links_[from].size() == 1;
  const bool to_one = links_[to].size() == 1;
  const std::uint32_t first = from_one ? other_end(topology_.links[links_[from][0]], from) : from;
  const std::uint32_t last = to_one ? other_end(topology_.links[links_[to][0]], to) : to;
  if (tree_to(last).hops[first] == kNowhere) return out;
  const auto own = [&](std::uint32_t host, bool up) {
    const std::uint32_t link = links_[host][0];
    out.push_back({link, (topology_.links[link].a == host) == up, 1});
  };
  if (from_one) own(from, true);
  shortest(first, last, out);
  if (to_one) own(to, false);
  return out;
}

void Paths::shortest(std::uint32_t from, std::uint32_t to, std::vector<Crossing>& out) const {
  const Tree& tree = tree_to(to);
  std::map<std::uint32_t, double> shares{{from, 1.0}};  // of the points at one distance
  for (std::uint32_t left = tree.hops[from]; left > 0; --left) {
    std::map<std::uint32_t, double> nearer;
    for (const auto& [here, share] : shares) {
      for (const std::uint32_t link : links_[here]) {
        const std::uint32_t there = other_end(topology_.links[link], here);
        if (tree.hops[there] + 1 != left || (topology_.points[there].host && there != to)) continue;
        const double part = share * tree.ways[there] / tree.ways[here];
        out.push_back({link, topology_.links[link].a == here, part});
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
  std::vector<std::vector<std::size_t>> crossed;  // by round: directions, and leaves after them
  for (const Round& round : all) {
    std::vector<std::size_t>& list = crossed.emplace_back();
    for (const Step& step : round.steps) {
      for (const Pair& pair : step) {
        for (std::uint32_t rail = 0; rail < rails; ++rail) {
          const std::vector<Crossing> path = paths.between(pair.sender, pair.receiver, rail);
          if (const auto leaf = paths.only_switch(path)) list.push_back(directions + *leaf);
          for (const Crossing& one : path) {
            if (!paths.between_switches(one.link)) continue;
            list.push_back(2 * one.link + (one.forward ? 1 : 0));
          }
        }
      }
    }
  }
  std::vector<std::uint32_t> counts(directions + paths.topology().points.size(), 0);
  std::vector<bool> taken(all.size(), false);
  std::vector<Round> chosen;
  while (chosen.size() < std::min<std::size_t>(rounds, all.size())) {
    std::size_t best = all.size();
    std::size_t most = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (taken[i]) continue;
      std::size_t gain = 0;
      std::vector<std::uint32_t> now = counts;
      for (const std::size_t part : crossed[i]) gain += now[part]++ < kEnough ? 1U : 0U;
      if (best != all.size() && gain <= most) continue;
      best = i;
      most = gain;
    }
    taken[best] = true;
    for (const std::size_t part : crossed[best]) ++counts[part];
    chosen.push_back(std::move(all[best]));
  }
  return chosen;
}

}  // namespace rdmabench::fabric

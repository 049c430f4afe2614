// Routes and neighbours: settings that keep packets between addresses from their way.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>
#include <vector>

#include "check.h"
#include "gid.h"

namespace rdmabench::inline v1::health {
namespace {

/// For most of these settings the kernel uses the larger of the two.
std::optional<std::uint64_t> setting(Probe& probe, const std::string& interface,
                                     const std::string& name) {
  const auto all = probe.number("proc/sys/net/ipv4/conf/all/" + name);
  if (!all) return std::nullopt;
  const auto own = probe.number("proc/sys/net/ipv4/conf/" + interface + "/" + name);
  if (!own) return std::nullopt;
  return std::max(*all, *own);
}

/// A network that interfaces reach without a gateway.
struct Network {
  std::string name;        ///< destination and mask, as the kernel writes them
  unsigned host_bits = 0;  ///< of an address in it
  std::set<std::string> interfaces;
};

struct Routes {
  std::vector<Network> networks;     ///< of IPv4
  std::set<std::string> interfaces;  ///< with a route of any kind, of IPv4 or IPv6
};

/// Source: proc(5), /proc/net/route; Linux net/ipv6/route.c, rt6_native_route_seq_show().
Routes routes_of(Probe& probe) {
  Routes routes;
  for (const std::string& line : lines_of(probe.try_text("proc/net/route"))) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 8) continue;
    const auto mask = hex_number(words[7]);
    if (!mask) continue;  // the heading
    routes.interfaces.insert(words[0]);
    if (words[2] != "00000000" || words[1] == "00000000") continue;
    const std::string name = words[1] + '/' + words[7];
    auto found = std::find_if(routes.networks.begin(), routes.networks.end(),
                              [&](const Network& network) { return network.name == name; });
    if (found == routes.networks.end()) {
      const auto bits = static_cast<unsigned>(std::popcount(*mask & 0xffffffffU));
      found = routes.networks.insert(found, {name, 32 - bits, {}});
    }
    found->interfaces.insert(words[0]);
  }
  for (const std::string& line : lines_of(probe.try_text("proc/net/ipv6_route"))) {
    const std::vector<std::string> words = words_of(line);
    // Neither what every interface has nor the node's own addresses.
    if (words.size() < 10 || words[1] == "80") continue;
    if (words[0].starts_with("fe80") || words[0].starts_with("ff")) continue;
    routes.interfaces.insert(words[9]);
  }
  return routes;
}

/// The RoCE network devices that share an IPv4 network with another RoCE device.
std::set<std::string> sharing(Probe& probe) {
  const std::vector<std::string> interfaces = probe.node().roce_interfaces();
  std::set<std::string> shared;
  for (const Network& network : routes_of(probe).networks) {
    std::set<std::string> here;
    for (const std::string& interface : interfaces) {
      if (network.interfaces.count(interface) != 0) here.insert(interface);
    }
    if (here.size() > 1) shared.insert(here.begin(), here.end());
  }
  return shared;
}

void rp_filter(Probe& probe) {
  const std::vector<std::string> interfaces = probe.node().roce_interfaces();
  if (interfaces.size() < 2) return probe.skip("fewer than two RoCE network devices");
  if (!probe.text("proc/net/route")) return;
  probe.expect("0 or 2 where two share a network", Source::standard);
  const std::set<std::string> shared = sharing(probe);
  if (shared.empty()) {
    probe.observe("each RoCE network device is on another network");
    return probe.pass();
  }
  std::vector<std::string> strict;
  for (const std::string& interface : shared) {
    const auto value = setting(probe, interface, "rp_filter");
    if (!value) return;
    if (*value == 1) strict.push_back(interface);
  }
  probe.observe(strict.empty() ? "not strict on any that shares a network"
                               : fmt::format("strict on {}", fmt::join(strict, ", ")));
  probe.judge_by(strict.empty(), Status::warn);
}

void arp(Probe& probe) {
  if (probe.node().roce_interfaces().size() < 2) {
    return probe.skip("fewer than two RoCE network devices");
  }
  if (!probe.text("proc/net/route")) return;
  const std::set<std::string> shared = sharing(probe);
  if (shared.empty()) {
    probe.observe("each RoCE network device is on another network");
    probe.expect("another network for each device, or arp_ignore 1 and arp_announce 2",
                 Source::derived);
    return probe.pass();
  }
  std::string loose;
  for (const std::string& interface : shared) {
    const auto ignore = setting(probe, interface, "arp_ignore");
    const auto announce = ignore ? setting(probe, interface, "arp_announce") : std::nullopt;
    if (!announce) return;
    if (*ignore < 1 || *announce < 2) {
      loose += fmt::format("{}{} {}/{}", loose.empty() ? "" : ", ", interface, *ignore, *announce);
    }
  }
  probe.judge_by(loose.empty(), Status::warn,
                 loose.empty() ? "arp_ignore and arp_announce are set" : "one network: " + loose,
                 "arp_ignore 1 and arp_announce 2 where they share a network", Source::standard);
}

/// The network devices over which a port's packets may leave: its own, the bond or bridge that it
/// belongs to, and those that its GIDs name, as a VLAN's. Source: Linux
/// drivers/infiniband/core/roce_gid_mgmt.c.
std::set<std::string> ways_of(Probe& probe, const RdmaPort& port) {
  std::set<std::string> names{port.interface};
  names.insert(probe.link_name("sys/class/net/" + port.interface + "/master"));
  for (const Gid& gid : gids_of(probe, port)) {
    if (!gid.foreign) names.insert(gid.interface);
  }
  return names;
}

/// Whether it belongs to another master than a bond or a bridge: a VRF, whose routes are in a table
/// of their own, which proc(5) does not show, a team or Open vSwitch. Source: Linux
/// Documentation/networking/vrf.rst; net/ipv4/fib_trie.c.
bool has_own_table(Probe& probe, const std::string& interface) {
  const std::string folder = "sys/class/net/" + interface + "/master";
  return !probe.link_name(folder).empty() && !probe.exists(folder + "/bonding") &&
         !probe.exists(folder + "/bridge");
}

/// Several on one network need no routing rules: the kernel looks for the route of a GID among
/// those of its network device. Source: Linux drivers/infiniband/core/addr.c, addr_resolve().
void routes(Probe& probe) {
  const std::vector<std::string> interfaces = probe.node().roce_interfaces();
  if (interfaces.empty()) return probe.skip("this node has no RoCE network device");
  if (!probe.exists("proc/net/ipv6_route") && !probe.text("proc/net/route")) return;
  const Routes all = routes_of(probe);
  std::set<std::string> missing;
  std::set<std::string> elsewhere;
  for (const RdmaPort* const port : probe.node().ports_in_use()) {
    if (!port->roce() || port->interface.empty()) continue;
    const std::set<std::string> ways = ways_of(probe, *port);
    const bool found = std::any_of(ways.begin(), ways.end(), [&](const std::string& way) {
      return all.interfaces.count(way) != 0;
    });
    if (!found) {
      const bool own_table = std::any_of(ways.begin(), ways.end(), [&](const std::string& way) {
        return !way.empty() && has_own_table(probe, way);
      });
      (own_table ? elsewhere : missing).insert(port->interface);
    }
  }
  probe.expect("a route for each RoCE network device, of IPv4 or IPv6", Source::derived);
  if (!missing.empty()) {
    probe.observe(fmt::format("no route over {}", fmt::join(missing, ", ")));
    return probe.warn();
  }
  if (!elsewhere.empty()) {
    return probe.skip(
        fmt::format("the routes over {} are those of another master, such as a VRF, whose table no "
                    "file shows",
                    fmt::join(elsewhere, ", ")));
  }
  probe.observe("each has its route");
  probe.pass();
}

/// The most neighbours that a rail can have: nodes, but no more than its network has addresses, for
/// peers behind a router are reached over its address.
std::uint64_t neighbours_of(const Routes& routes, const std::string& interface,
                            std::uint64_t nodes) {
  for (const Network& network : routes.networks) {
    if (network.interfaces.count(interface) == 0) continue;
    return std::min(nodes, std::uint64_t{1} << network.host_bits);
  }
  return 1;
}

void neighbours(Probe& probe) {
  const Expectation* const nodes = probe.expectation("nodes");
  const auto most = probe.number("proc/sys/net/ipv4/neigh/default/gc_thresh3");
  if (!most) return;
  probe.observe(std::to_string(*most));
  if (nodes == nullptr) return probe.skip("needs the number of nodes: --expect nodes=N");
  const std::uint64_t count = to_number(nodes->value).value_or(0);
  const std::vector<std::string> interfaces = probe.node().roce_interfaces();
  const Routes routes = routes_of(probe);
  std::uint64_t wanted = 0;
  for (const std::string& interface : interfaces) {
    wanted += routes.interfaces.empty() ? count : neighbours_of(routes, interface, count);
  }
  if (interfaces.empty()) wanted = count;
  probe.expect(fmt::format("at least {}: {} nodes, {} rails, and no more than their networks have",
                           wanted, nodes->value, std::max<std::size_t>(interfaces.size(), 1)),
               nodes->source);
  probe.judge_by(*most >= wanted, Status::fail);
}

void manager_tos(Probe& probe, const RdmaPort& port) {
  if (port.device->iwarp) return probe.skip(std::string(kIwarp));
  if (!port.roce()) return probe.skip("only RoCE has a type of service");
  const auto tos = probe.number(fmt::format(
      "sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos", port.device->name, port.number));
  if (tos) probe.compare("tos", std::to_string(*tos));
}

constexpr auto kRouteRows = std::to_array<Check>({
    {{.id = "address.rp_filter",
      .title = "Reverse path filter",
      .reads = "proc/sys/net/ipv4/conf/*/rp_filter, proc/net/route",
      .rule = "RoCE devices on one network: WARN if strict (1)",
      .remedy = "sysctl -w net.ipv4.conf.all.rp_filter=2, and the same for each of them.",
      .source = "Linux ip-sysctl; IBM SMC-R guide"},
     rp_filter},
    {{.id = "address.arp",
      .title = "Devices on which addresses answer",
      .reads = "proc/sys/net/ipv4/conf/*/{arp_ignore,arp_announce}, proc/net/route",
      .rule = "RoCE devices on one network: WARN without arp_ignore 1 and arp_announce 2",
      .remedy = "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2.",
      .source = "Linux ip-sysctl; IBM SMC-R guide"},
     arp},
    {{.id = "address.routes",
      .title = "Routes of the rails",
      .reads = "proc/net/{route,ipv6_route}, P/gid_attrs/ndevs/*, N/master",
      .rule = "WARN if no route leads over a RoCE device, its bond or its VLAN; SKIP in a VRF",
      .remedy = "Give the network device an address and a network.",
      .source = "proc(5); Linux net/ipv6/route.c, infiniband/core/addr.c, roce_gid_mgmt.c"},
     routes},
    {{.id = "address.neighbours",
      .title = "Neighbour table",
      .reads = "proc/sys/net/ipv4/neigh/default/gc_thresh3, proc/net/route",
      .rule =
          "FAIL if smaller than nodes times rails, or all addresses of the rails' networks (--expect nodes=N)",
      .remedy =
          "sysctl -w net.ipv4.neigh.default.gc_thresh3=N, gc_thresh2 and gc_thresh1 below it.",
      .source = "Linux ip-sysctl, net/core/neighbour.c"},
     neighbours},
    {{.id = "address.cm_tos",
      .title = "Type of service of the connection manager",
      .reads = "sys/kernel/config/rdma_cm/*/ports/*/default_roce_tos",
      .rule = "WARN if not the expected one",
      .remedy = "cma_roce_tos -d DEVICE -p PORT -t TOS.",
      .source = "Linux Documentation/ABI/testing/configfs-rdma_cm; mlnx-tools sbin/cma_roce_tos",
      .compares = true,
      .root = true},
     manager_tos},
});

}  // namespace

constinit const std::span<const Check> kRouteChecks = kRouteRows;

}  // namespace rdmabench::inline v1::health

// Addresses: how a peer finds this node, and settings that prevent it.
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

/// With the finding SKIP.
bool not_roce(Probe& probe, const RdmaPort& port, std::string_view reason) {
  if (!port.roce()) probe.skip(std::string(port.device->iwarp ? kIwarp : reason));
  return !port.roce();
}

/// On RoCE any index will do: those before may be of other network namespaces.
void gid(Probe& probe, const RdmaPort& port) {
  if (port.device->iwarp) return probe.skip(std::string(kIwarp));
  probe.expect("not zero", Source::standard);
  if (!port.roce()) {
    const auto text = probe.line(port.folder + "/gids/0");
    if (!text) return;
    probe.observe(*text);
    return probe.judge_by(text->find_first_not_of("0:") != std::string::npos, Status::fail);
  }
  if (probe.list(port.folder + "/gids").empty()) return probe.skip("the port shows no GID table");
  std::string foreign;
  for (const Gid& gid : gids_of(probe, port)) {
    if (gid.foreign) {
      foreign =
          fmt::format("only GIDs of {} and the like, which this namespace lacks", gid.interface);
      continue;
    }
    probe.observe(gid.index == 0 ? gid.text : fmt::format("index {}: {}", gid.index, gid.text));
    return probe.pass();
  }
  probe.observe(foreign.empty() ? "every one is zero" : foreign);
  const bool here = !port.interface.empty() && probe.exists("sys/class/net/" + port.interface);
  probe.fail(here ? ""
                  : "No network device of the card is in this network namespace: hand one to the "
                    "container (in Kubernetes by Multus: macvlan, host-device, SR-IOV).");
}

void roce_v2(Probe& probe, const RdmaPort& port) {
  if (not_roce(probe, port, "only RoCE chooses among GIDs")) return;
  const std::vector<Gid>& gids = gids_of(probe, port);
  if (gids.empty()) return probe.skip("the port has no GID: see address.gid");
  probe.expect("a RoCE v2 GID of an IP address", Source::standard);
  const Gid* one_network = nullptr;
  bool local = false;
  bool typed = false;
  for (const Gid& gid : gids) {
    typed = typed || !gid.type.empty();
    if (gid.routable()) {
      probe.observe(fmt::format("index {}: {}", gid.index, gid.ipv4() ? gid.address() : gid.text));
      return probe.pass();
    }
    if (gid.foreign) continue;
    local = local || gid.link_local();
    if (!gid.link_local() && one_network == nullptr) one_network = &gid;
  }
  if (!typed) return probe.skip("the kernel does not tell of which version its GIDs are");
  if (one_network != nullptr) {
    probe.observe(
        fmt::format("only RoCE v1, {}: verbs and NCCL reach peers of one Ethernet network, "
                    "not over a router",
                    one_network->address()));
    return probe.warn("Keep peers in one Ethernet network, or use a device that has RoCE v2.");
  }
  if (!local) return probe.skip("every GID is of another network namespace: see address.gid");
  if (!port.interface.empty() &&
      !probe.link_name("sys/class/net/" + port.interface + "/master").empty()) {
    return probe.skip(
        fmt::format("{} belongs to a bond or a bridge, which has the address", port.interface));
  }
  if (probe.try_number(port.device->pci.folder + "/sriov_numvfs").value_or(0) > 0) {
    return probe.skip("its virtual functions have the addresses");
  }
  probe.observe(
      "only link-local: verbs, UCX and NCCL reach peers of one Ethernet network; rdma_cm, and "
      "whatever is behind a router, need an IP address");
  probe.warn();
}

/// In a container others' devices may be named, but one has to be its own.
void gid_interface(Probe& probe, const RdmaPort& port) {
  if (not_roce(probe, port, "only RoCE ties GIDs to network devices")) return;
  std::set<std::string> own;
  std::set<std::string> foreign;
  for (const Gid& gid : gids_of(probe, port)) {
    if (!gid.interface.empty()) (gid.foreign ? foreign : own).insert(gid.interface);
  }
  if (own.empty() && foreign.empty()) {
    return probe.skip("the port does not report the network devices of its GIDs");
  }
  const auto text = [](const std::set<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
  };
  probe.observe(own.empty() ? fmt::format("all are of {}, which is not there", text(foreign))
                            : text(own));
  probe.expect("a network device of this node", Source::derived);
  probe.judge_by(!own.empty(), Status::fail);
}

void gid_address(Probe& probe, const RdmaPort& port) {
  if (not_roce(probe, port, "only RoCE makes GIDs of addresses")) return;
  const std::set<std::string>& own = probe.node().addresses;
  probe.has_read("proc/net/fib_trie");
  if (own.empty()) return probe.skip("proc/net/fib_trie does not report this node's addresses");
  probe.expect("an address that this node has", Source::derived);
  std::set<std::string> seen;
  for (const Gid& gid : gids_of(probe, port)) {
    const std::string address = gid.address();
    if (!gid.ipv4() || gid.foreign) continue;
    seen.insert(address);
    probe.observe(address);
    if (own.count(address) == 0) return probe.fail();
  }
  if (seen.empty()) return probe.skip("no GID of this port is an IPv4 address");
  probe.pass();
}

void gid_index(Probe& probe) {
  std::string observed;
  std::set<std::uint64_t> indices;
  for (const RdmaPort* const port : probe.node().ports_in_use()) {
    if (!port->roce()) continue;
    const std::vector<Gid>& gids = gids_of(probe, *port);
    const Gid* const one = best_gid(gids);
    if (one == nullptr) continue;
    indices.insert(one->index);
    observed += fmt::format("{}{} {}", observed.empty() ? "" : ", ", port->name, one->index);
  }
  if (indices.empty()) return probe.skip("no port has a RoCE v2 GID of an IP address");
  if (indices.size() == 1) observed = std::to_string(*indices.begin());
  if (probe.expectation("gid_index") != nullptr) return probe.compare("gid_index", observed);
  probe.judge_by(indices.size() == 1, Status::warn, observed, "one index for all ports",
                 Source::derived);
}

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
  std::string strict;
  for (const std::string& interface : shared) {
    const auto value = setting(probe, interface, "rp_filter");
    if (!value) return;
    if (*value == 1) strict += (strict.empty() ? "" : ", ") + interface;
  }
  probe.observe(strict.empty() ? "not strict on any that shares a network" : "strict on " + strict);
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

std::string manager_file(const RdmaPort& port, std::string_view name) {
  return fmt::format("sys/kernel/config/rdma_cm/{}/ports/{}/{}", port.device->name, port.number,
                     name);
}

void manager_tos(Probe& probe, const RdmaPort& port) {
  if (not_roce(probe, port, "only RoCE has a type of service")) return;
  const auto tos = probe.number(manager_file(port, "default_roce_tos"));
  if (tos) probe.compare("tos", std::to_string(*tos));
}

constexpr auto kAddressRows = std::to_array<Check>({
    {{.id = "address.gid",
      .title = "GIDs of the port",
      .reads = "P/{gids,gid_attrs/ndevs}/*",
      .rests_on = "port.state",
      .rule = "FAIL if it is zero; on RoCE, if every one is, or of another network namespace",
      .remedy = "InfiniBand: the subnet manager sets it. RoCE: bring the network device up.",
      .source = "sysfs-class-infiniband; Linux infiniband/core/cache.c",
      .as_cause = "has no GID"},
     gid},
    {{.id = "address.roce_v2",
      .title = "RoCE v2 GIDs of IP addresses",
      .reads = "P/{gids,gid_attrs/{types,ndevs}}/*, N/master, D/sriov_numvfs",
      .rests_on = "address.gid",
      .rule =
          "RoCE: WARN with link-local ones or RoCE v1 alone; SKIP with link-local ones of a bond's or bridge's member, or with virtual functions",
      .remedy =
          "Give the network device an IP address: ip address add, and in the network configuration.",
      .source =
          "NCCL src/transport/net_ib/connect.cc; UCX src/uct/ib/base/ib_device.c; sysfs-class-infiniband"},
     roce_v2},
    {{.id = "address.gid_interface",
      .title = "Network devices of the GIDs",
      .reads = "P/gid_attrs/ndevs/*, N",
      .rests_on = "port.state",
      .rule = "RoCE: FAIL if none is there",
      .remedy =
          "Restart the network device; in a container hand it in together with the RDMA device.",
      .source = "sysfs-class-infiniband; Linux infiniband/core/sysfs.c"},
     gid_interface},
    {{.id = "address.gid_address",
      .title = "Addresses of the GIDs",
      .reads = "P/gids/*, proc/net/fib_trie",
      .rests_on = "port.state",
      .rule = "RoCE: FAIL if no IPv4 GID is an address of the node",
      .remedy =
          "The GID table is stale, or of another network namespace: take the link down and up again.",
      .source = "sysfs-class-infiniband; Linux fib_trie"},
     gid_address},
    {{.id = "address.gid_index",
      .title = "GID index of each port",
      .reads = "P/{gids,gid_attrs/types}/*",
      .rule = "WARN if the ports differ, or not the expected one",
      .remedy =
          "Do not set NCCL_IB_GID_INDEX (NCCL 2.21 and later chooses), or make the addresses alike.",
      .source = "NCCL environment variables, NCCL_IB_GID_INDEX",
      .compares = true},
     gid_index},
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

constinit const std::span<const Check> kAddressChecks = kAddressRows;

}  // namespace rdmabench::inline v1::health

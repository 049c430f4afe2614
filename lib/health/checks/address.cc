// Addresses: how a peer finds this node, and settings that prevent it.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

/// An entry of a port's GID table. Source: sysfs-class-infiniband.
struct Gid {
  std::uint64_t index = 0;
  std::string text;       ///< "0000:0000:0000:0000:0000:ffff:0a00:0001"
  std::string type;       ///< "RoCE v2", "IB/RoCE v1"; "" if unknown
  std::string interface;  ///< the network device; "" if unknown

  bool link_local() const { return text.starts_with("fe80:"); }
  bool ipv4() const { return text.starts_with("0000:0000:0000:0000:0000:ffff:"); }
  /// Routable, so that a peer can use it.
  bool routable() const { return type == "RoCE v2" && !link_local(); }
  /// "10.0.0.1" if ipv4(), else "".
  std::string address() const {
    if (!ipv4()) return "";
    std::string digits = text.substr(30);
    std::erase(digits, ':');
    const auto value = hex_number(digits);
    if (!value || digits.size() != 8) return "";
    return fmt::format("{}.{}.{}.{}", *value >> 24, (*value >> 16) & 0xff, (*value >> 8) & 0xff,
                       *value & 0xff);
  }
};

/// All GIDs but zeros, by index.
std::vector<Gid> gids_of(Probe& probe, const RdmaPort& port) {
  constexpr std::size_t kMostGids = 1024;
  std::vector<Gid> gids;
  for (const std::string& name : probe.list(port.folder + "/gids")) {
    const auto index = to_number(name);
    if (!index || gids.size() == kMostGids) continue;
    Gid gid;
    gid.index = *index;
    gid.text = probe.try_line(port.folder + "/gids/" + name);
    if (gid.text.find_first_not_of("0:") == std::string::npos) continue;
    gid.type = probe.try_line(port.folder + "/gid_attrs/types/" + name);
    gid.interface = probe.try_line(port.folder + "/gid_attrs/ndevs/" + name);
    gids.push_back(std::move(gid));
  }
  std::sort(gids.begin(), gids.end(),
            [](const Gid& first, const Gid& second) { return first.index < second.index; });
  return gids;
}

/// With the finding SKIP.
bool not_roce(Probe& probe, const RdmaPort& port, std::string_view reason) {
  if (!port.roce()) probe.skip(std::string(port.device->iwarp ? kIwarp : reason));
  return !port.roce();
}

void gid(Probe& probe, const RdmaPort& port) {
  if (port.device->iwarp) return probe.skip(std::string(kIwarp));
  const auto text = probe.line(port.folder + "/gids/0");
  if (!text) return;
  probe.judge_by(text->find_first_not_of("0:") != std::string::npos, Status::fail, *text,
                 "not zero", Source::standard);
}

void roce_v2(Probe& probe, const RdmaPort& port) {
  if (not_roce(probe, port, "only RoCE chooses among GIDs")) return;
  const std::vector<Gid> gids = gids_of(probe, port);
  probe.expect("a RoCE v2 GID of an IP address", Source::standard);
  std::string others;
  for (const Gid& gid : gids) {
    if (gid.routable()) {
      probe.observe(fmt::format("index {}: {}", gid.index, gid.ipv4() ? gid.address() : gid.text));
      return probe.pass();
    }
    others += fmt::format("{}{}{}", others.empty() ? "" : ", ", gid.type,
                          gid.link_local() ? " link-local" : "");
  }
  probe.observe(others.empty() ? "no GID" : "only " + others);
  probe.fail();
}

void gid_interface(Probe& probe, const RdmaPort& port) {
  if (not_roce(probe, port, "only RoCE ties GIDs to network devices")) return;
  std::set<std::string> names;
  bool any = false;
  for (const Gid& gid : gids_of(probe, port)) {
    if (gid.interface.empty()) continue;
    any = true;
    names.insert(gid.interface);
    if (gid.interface.find('/') == std::string::npos &&
        probe.exists("sys/class/net/" + gid.interface)) {
      continue;
    }
    probe.observe(fmt::format("GID {} is of {}, which is not there", gid.index, gid.interface));
    probe.expect("network devices of this node", Source::derived);
    return probe.fail();
  }
  if (!any) return probe.skip("the port does not report the network devices of its GIDs");
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  probe.observe(text);
  probe.expect("network devices of this node", Source::derived);
  probe.pass();
}

/// The node's own IPv4 addresses: the lines after which fib_trie says "/32 host LOCAL".
std::set<std::string> local_addresses(Probe& probe) {
  std::set<std::string> found;
  std::string last;
  for (const std::string& line : lines_of(probe.try_text("proc/net/fib_trie"))) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() == 2 && words[0] == "|--") last = words[1];
    if (words.size() == 3 && words[0] == "/32" && words[2] == "LOCAL") found.insert(last);
  }
  return found;
}

void gid_address(Probe& probe, const RdmaPort& port) {
  if (not_roce(probe, port, "only RoCE makes GIDs of addresses")) return;
  const std::set<std::string> own = local_addresses(probe);
  if (own.empty()) return probe.skip("proc/net/fib_trie does not report this node's addresses");
  probe.expect("an address that this node has", Source::derived);
  std::set<std::string> seen;
  for (const Gid& gid : gids_of(probe, port)) {
    const std::string address = gid.address();
    if (address.empty()) continue;
    seen.insert(address);
    probe.observe(address);
    if (own.count(address) == 0) return probe.fail();
  }
  if (seen.empty()) return probe.skip("no GID of this port is an IPv4 address");
  probe.pass();
}

/// The GID to give to a peer: RoCE v2 of an IPv4 address before one of IPv6.
const Gid* best(const std::vector<Gid>& gids) {
  const Gid* found = nullptr;
  for (const Gid& gid : gids) {
    if (!gid.routable()) continue;
    if (found == nullptr || (gid.ipv4() && !found->ipv4())) found = &gid;
  }
  return found;
}

void gid_index(Probe& probe) {
  std::string observed;
  std::set<std::uint64_t> indices;
  for (const RdmaPort* const port : probe.node().ports_in_use()) {
    if (!port->roce()) continue;
    const std::vector<Gid> gids = gids_of(probe, *port);
    const Gid* const one = best(gids);
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

void rp_filter(Probe& probe) {
  const std::vector<std::string> interfaces = probe.node().roce_interfaces();
  if (interfaces.size() < 2) return probe.skip("fewer than two RoCE network devices");
  std::string strict;
  for (const std::string& interface : interfaces) {
    const auto value = setting(probe, interface, "rp_filter");
    if (!value) return;
    if (*value == 1) strict += (strict.empty() ? "" : ", ") + interface;
  }
  probe.judge_by(strict.empty(), Status::warn,
                 strict.empty() ? "not strict on any" : "strict on " + strict, "0 or 2",
                 Source::standard);
}

/// Networks in /proc/net/route that the interface reaches without a gateway: destination/mask.
std::map<std::string, std::set<std::string>> networks(Probe& probe) {
  std::map<std::string, std::set<std::string>> found;
  for (const std::string& line : lines_of(probe.try_text("proc/net/route"))) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 8 || words[2] != "00000000" || words[1] == "00000000") continue;
    found[words[1] + '/' + words[7]].insert(words[0]);
  }
  return found;
}

/// The RoCE network devices that share a network with another RoCE device.
std::set<std::string> sharing(Probe& probe) {
  const std::vector<std::string> interfaces = probe.node().roce_interfaces();
  std::set<std::string> shared;
  for (const auto& [network, members] : networks(probe)) {
    std::set<std::string> here;
    for (const std::string& interface : interfaces) {
      if (members.count(interface) != 0) here.insert(interface);
    }
    if (here.size() > 1) shared.insert(here.begin(), here.end());
  }
  return shared;
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

void routes(Probe& probe) {
  const std::vector<std::string> interfaces = probe.node().roce_interfaces();
  if (interfaces.empty()) return probe.skip("this node has no RoCE network device");
  if (!probe.text("proc/net/route")) return;
  const auto all = networks(probe);
  std::string missing;
  for (const std::string& interface : interfaces) {
    const bool routed = std::any_of(all.begin(), all.end(), [&](const auto& network) {
      return network.second.count(interface) != 0;
    });
    if (!routed) missing += (missing.empty() ? "" : ", ") + interface;
  }
  probe.observe(missing.empty() ? "each has its network" : "no network on " + missing);
  probe.expect("a separate route for each RoCE network device", Source::derived);
  if (!missing.empty()) return probe.warn();
  if (!sharing(probe).empty()) {
    return probe.skip("some share a network, and routing rules are in no file: see ip rule");
  }
  probe.pass();
}

void neighbours(Probe& probe) {
  const Expectation* const nodes = probe.expectation("nodes");
  const auto most = probe.number("proc/sys/net/ipv4/neigh/default/gc_thresh3");
  if (!most) return;
  probe.observe(std::to_string(*most));
  if (nodes == nullptr) return probe.skip("needs the number of nodes: --expect nodes=N");
  const std::size_t rails = std::max<std::size_t>(probe.node().roce_interfaces().size(), 1);
  const std::uint64_t wanted = to_number(nodes->value).value_or(0) * rails;
  probe.expect(fmt::format("at least {}: {} nodes, {} rails", wanted, nodes->value, rails),
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
      .title = "The port has a GID",
      .reads = "P/gids/0",
      .rests_on = "port.state",
      .rule = "FAIL if it is zero",
      .remedy = "InfiniBand: the subnet manager sets it. RoCE: bring the network device up.",
      .source = "sysfs-class-infiniband",
      .as_cause = "has no GID"},
     gid},
    {{.id = "address.roce_v2",
      .title = "A RoCE v2 GID of an IP address",
      .reads = "P/{gids,gid_attrs/types}/*",
      .rests_on = "address.gid",
      .rule = "RoCE: FAIL without one that is not link-local",
      .remedy =
          "Give the network device an IP address: ip address add, and in the network configuration.",
      .source = "NCCL net_ib connect.cc; sysfs-class-infiniband"},
     roce_v2},
    {{.id = "address.gid_interface",
      .title = "GIDs are of this node's network devices",
      .reads = "P/gid_attrs/ndevs/*, N",
      .rests_on = "port.state",
      .rule = "RoCE: FAIL if one is not there",
      .remedy =
          "Restart the network device; in a container hand it in together with the RDMA device.",
      .source = "sysfs-class-infiniband"},
     gid_interface},
    {{.id = "address.gid_address",
      .title = "GIDs are of this node's addresses",
      .reads = "P/gids/*, proc/net/fib_trie",
      .rests_on = "port.state",
      .rule = "RoCE: FAIL if an IPv4 GID is not an address of the node",
      .remedy =
          "The GID table is stale, or of another network namespace: take the link down and up again.",
      .source = "sysfs-class-infiniband; Linux fib_trie"},
     gid_address},
    {{.id = "address.gid_index",
      .title = "One GID index for all ports",
      .reads = "P/{gids,gid_attrs/types}/*",
      .rule = "WARN if the ports differ, or not the expected one",
      .remedy =
          "Do not set NCCL_IB_GID_INDEX (NCCL 2.21 and later chooses), or make the addresses alike.",
      .source = "NCCL environment variables, NCCL_IB_GID_INDEX",
      .compares = true},
     gid_index},
    {{.id = "address.rp_filter",
      .title = "Reverse path filter",
      .reads = "proc/sys/net/ipv4/conf/*/rp_filter",
      .rule = "two RoCE devices or more: WARN if strict (1)",
      .remedy = "sysctl -w net.ipv4.conf.all.rp_filter=2, and the same for each of them.",
      .source = "Linux ip-sysctl; IBM SMC-R guide"},
     rp_filter},
    {{.id = "address.arp",
      .title = "Each address answers on its own device",
      .reads = "proc/sys/net/ipv4/conf/*/{arp_ignore,arp_announce}, proc/net/route",
      .rule = "RoCE devices on one network: WARN without arp_ignore 1 and arp_announce 2",
      .remedy = "sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2.",
      .source = "Linux ip-sysctl; IBM SMC-R guide"},
     arp},
    {{.id = "address.routes",
      .title = "Each rail has its route",
      .reads = "proc/net/route",
      .rule = "WARN if a RoCE device has no network; SKIP if some share one",
      .remedy =
          "Give the network device an address and a network; with several on one network, a routing "
          "rule for each.",
      .source = "RoCE multi-rail guides; rdma_cm(7)"},
     routes},
    {{.id = "address.neighbours",
      .title = "Neighbour table",
      .reads = "proc/sys/net/ipv4/neigh/default/gc_thresh3",
      .rule = "FAIL if smaller than nodes times rails (--expect nodes=N)",
      .remedy =
          "sysctl -w net.ipv4.neigh.default.gc_thresh3=N, gc_thresh2 and gc_thresh1 below it.",
      .source = "Linux ip-sysctl; OCI meshpinger"},
     neighbours},
    {{.id = "address.cm_tos",
      .title = "Type of service of the connection manager",
      .reads = "sys/kernel/config/rdma_cm/*/ports/*/default_roce_tos",
      .rule = "WARN if not the expected one",
      .remedy = "cma_roce_tos -d DEVICE -p PORT -t TOS.",
      .source = "Linux configfs-rdma_cm; mlnx-tools",
      .compares = true,
      .root = true},
     manager_tos},
});

}  // namespace

constinit const std::span<const Check> kAddressChecks = kAddressRows;

}  // namespace rdmabench::inline v1::health

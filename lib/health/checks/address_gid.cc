// GIDs: by which a peer finds a port.
#include <fmt/ranges.h>

#include <array>
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
  probe.observe(own.empty()
                    ? fmt::format("all are of {}, which is not there", fmt::join(foreign, ", "))
                    : fmt::format("{}", fmt::join(own, ", ")));
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

constexpr auto kGidRows = std::to_array<Check>({
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
});

}  // namespace

constinit const std::span<const Check> kGidChecks = kGidRows;

}  // namespace rdmabench::inline v1::health

// What a port is to its network: its network device, MTU, subnet manager and partition.
#include <algorithm>
#include <array>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::uint64_t kRoceHeaders = 96;  // subtracted by Linux' iboe_get_mtu()

void operstate(Probe& probe, const RdmaPort& port) {
  if (port.interface.empty()) return probe.skip("no network device belongs to the port");
  const auto text = probe.line("sys/class/net/" + port.interface + "/operstate");
  if (!text) return;
  probe.observe(fmt::format("{} is {}", port.interface, *text));
  probe.expect("up", Source::standard);
  // RoCE needs it; InfiniBand's is only for IP. Some virtual devices always say "unknown".
  if (*text == "unknown") return probe.skip("the network device does not report its state");
  if (*text != "up" && port.infiniband()) {
    const auto flags = hex_number(probe.try_line("sys/class/net/" + port.interface + "/flags"));
    const bool configured = flags && (*flags & 1U) != 0;  // IFF_UP, netdevice(7)
    if (!configured) return probe.skip("nobody configured IP over InfiniBand on it");
  }
  probe.judge_by(*text == "up", port.infiniband() ? Status::warn : Status::fail);
}

/// The RoCE MTU for a network device's MTU. Source: Linux include/rdma/ib_addr.h.
std::uint64_t roce_mtu(std::uint64_t interface_mtu) {
  for (std::uint64_t mtu = 4096; mtu >= 256; mtu /= 2) {
    if (interface_mtu >= mtu + kRoceHeaders) return mtu;
  }
  return 0;
}

struct Mtu {
  std::uint64_t active = 0;
  std::uint64_t interface = 0;  ///< 0 for InfiniBand
};

/// The active MTU of verbs, else derived from the network device.
Mtu mtu_of(Probe& probe, const RdmaPort& port) {
  Mtu mtu;
  if (port.roce() && !port.interface.empty()) {
    mtu.interface = probe.try_number("sys/class/net/" + port.interface + "/mtu").value_or(0);
  }
  const std::string fact = value_after(probe.try_text("rdmabench/verbs"), port.name);
  mtu.active = to_number(value_of_word(fact, "active_mtu")).value_or(0);
  if (mtu.active == 0) mtu.active = roce_mtu(mtu.interface);
  return mtu;
}

void active_mtu(Probe& probe, const RdmaPort& port) {
  if (port.device->driver == "efa")
    return probe.skip("the MTU of EFA does not follow from the network device");
  if (port.device->iwarp) return probe.skip(std::string(kIwarp));
  const Mtu mtu = mtu_of(probe, port);
  if (mtu.active == 0) return probe.skip("only libibverbs reports the MTU of such a port");
  probe.observe(mtu.interface == 0
                    ? fmt::format("{}", mtu.active)
                    : fmt::format("{}: {} has {}", mtu.active, port.interface, mtu.interface));
  if (const Expectation* const wanted = probe.expectation("mtu")) {
    probe.expect(wanted->value, wanted->source);
    return probe.judge_by(std::to_string(mtu.active) == wanted->value, Status::fail);
  }
  for (const RdmaPort* const other : probe.node().ports_in_use()) {
    // Another kind of card, or its second port, may be of another network.
    if (!port.same_board(*other) || other->place() != port.place()) continue;
    const std::uint64_t theirs = mtu_of(probe, *other).active;
    if (theirs <= mtu.active) continue;
    probe.expect(fmt::format("{}, as {} has", theirs, other->name), Source::derived);
    return probe.fail();
  }
  if (roce_mtu(mtu.interface) > mtu.active) {
    probe.expect(fmt::format("{}, which the network device allows", roce_mtu(mtu.interface)),
                 Source::derived);
    return probe.warn("Take the link down and up again: the port still has the MTU of before.");
  }
  probe.expect("4096", Source::standard);
  probe.judge_by(mtu.active >= 4096, Status::warn);
}

void subnet_manager(Probe& probe, const RdmaPort& port) {
  if (!port.infiniband()) return probe.skip("only InfiniBand has a subnet manager");
  const auto text = probe.line(port.folder + "/sm_lid");
  if (!text) return;
  const auto lid = hex_number(*text);
  probe.observe(*text);
  probe.expect("not 0x0", Source::standard);
  if (!lid) return probe.error(fmt::format("invalid LID '{}'", *text));
  probe.judge_by(*lid != 0, Status::fail);
}

void lid(Probe& probe, const RdmaPort& port) {
  if (!port.infiniband()) return probe.skip("only InfiniBand has LIDs");
  const auto text = probe.line(port.folder + "/lid");
  if (!text) return;
  const auto value = hex_number(*text);
  probe.observe(*text);
  probe.expect("0x1 to 0xbfff", Source::standard);
  if (!value) return probe.error(fmt::format("invalid LID '{}'", *text));
  probe.judge_by(*value >= 1 && *value <= 0xbfff, Status::fail);
}

void pkey(Probe& probe, const RdmaPort& port) {
  std::string keys;
  bool full = false;
  for (const std::string& index : probe.list(port.folder + "/pkeys")) {
    const std::string text = probe.try_line(port.folder + "/pkeys/" + index);
    const auto key = hex_number(text);
    if (!key || (*key & 0x7fff) == 0) continue;
    keys += (keys.empty() ? "" : " ") + text;
    full = full || (*key & 0x8000) != 0;
  }
  if (keys.empty()) return probe.skip("the port reports no partition keys");
  probe.judge_by(full, Status::warn, keys, "a full member of a partition", Source::standard);
}

void rings(Probe& probe, const RdmaPort& port) {
  if (const auto fact = ethernet_fact(probe, port, "rings"))
    probe.compare("rx_ring", value_of_word(*fact, "rx"));
}

constexpr auto kPortNetworkRows = std::to_array<Check>({
    {{.id = "port.interface",
      .title = "State of the network device",
      .reads = "N/{operstate,flags}",
      .rests_on = "port.state",
      .rule = "RoCE: FAIL unless up; InfiniBand: WARN if it is configured and not up",
      .remedy = "Bring it up: ip link set IF up, and in the network configuration.",
      .source = "facebookresearch/gcm health_checks/checks/check_iblink.py, LINK_OPERSTATE_DOWN"},
     operstate},
    {{.id = "port.mtu",
      .title = "Active MTU",
      .reads = "ibv_query_port(), N/mtu, board_id",
      .rests_on = "port.state",
      .rule =
          "FAIL if not the expected one or below the same port of another card of the board; WARN below 4096",
      .remedy =
          "RoCE: ip link set IF mtu 4200 or more (9000 on most fabrics), and the same on the switch. InfiniBand: the partition's "
          "MTU in the subnet manager.",
      .source = "Linux include/rdma/ib_addr.h iboe_get_mtu; bnxt_re README",
      .compares = true},
     active_mtu},
    {{.id = "port.subnet_manager",
      .title = "Subnet manager",
      .reads = "P/sm_lid",
      .rests_on = "port.state",
      .rule = "InfiniBand: FAIL if it is 0",
      .remedy =
          "Start a subnet manager (opensm) or look for why this port does not see it: sminfo.",
      .source = "sysfs-class-infiniband; InfiniBand specification 1.7, 14.4",
      .as_cause = "has no subnet manager"},
     subnet_manager},
    {{.id = "port.lid",
      .title = "LID of the port",
      .reads = "P/lid",
      .rests_on = "port.subnet_manager",
      .rule = "InfiniBand: FAIL outside of 0x1 to 0xbfff",
      .remedy = "Start a subnet manager; it hands out the LIDs.",
      .source = "InfiniBand specification 1.7, 4.1.3"},
     lid},
    {{.id = "port.pkey",
      .title = "Partition membership",
      .reads = "P/pkeys/*",
      .rests_on = "port.state",
      .rule = "WARN with limited membership alone",
      .remedy =
          "Make the port a full member of a partition in the subnet manager's partitions.conf.",
      .source = "InfiniBand specification 1.7, 10.9.1.1"},
     pkey},
    {{.id = "port.rings",
      .title = "Receive ring of the network device",
      .reads = "ethtool",
      .rule = "WARN if not the expected one",
      .remedy =
          "ethtool -G IF rx N, and in the network configuration. RDMA does not use it; TCP does.",
      .source = "Linux ethtool-netlink",
      .compares = true},
     rings},
});

}  // namespace

constinit const std::span<const Check> kPortNetworkChecks = kPortNetworkRows;

}  // namespace rdmabench::inline v1::health

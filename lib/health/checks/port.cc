// Ports: whether they are up, fast enough, and known to the subnet manager.
#include <algorithm>
#include <array>

#include "base/port_rate.h"
#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::string_view kNoManager =
    "The link is up and waits for a subnet manager: start one (opensm), or look at it with sminfo.";

constexpr std::uint64_t kRoceHeaders = 96;  // subtracted by Linux' iboe_get_mtu()

/// The port of the physical function of a virtual one; null if it is not seen.
const RdmaPort* parent_of(Probe& probe, const RdmaPort& port) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (device.pci.address != port.device->parent || port.device->parent.empty()) continue;
    for (const RdmaPort& other : device.ports) {
      if (other.number == port.number) return &other;
    }
  }
  return nullptr;
}

constexpr std::string_view kCable =
    "Clean or reseat the transceiver, then change the cable, then the switch port.";

/// With the physical state, which says what to do.
void state(Probe& probe, const RdmaPort& port) {
  const auto text = probe.line(port.folder + "/state");
  if (!text) return;
  const std::string physical = probe.try_line(port.folder + "/phys_state");
  const bool active = *text == "4: ACTIVE";
  probe.observe(active || physical.empty() ? *text : fmt::format("{}, {}", *text, physical));
  probe.expect("4: ACTIVE", Source::standard);
  if (active) return probe.pass();
  if (*text == "3: ARMED") return probe.warn(kNoManager);
  const RdmaPort* const parent = parent_of(probe, port);
  if (parent != nullptr && !probe.try_line(parent->folder + "/state").starts_with("4:")) {
    return probe.skip(fmt::format("port {}, whose virtual function it is, is down", parent->name));
  }
  if (!port.device->parent.empty() && port.infiniband()) {
    return probe.fail(
        "It is a virtual function, which the fabric turns on: virt_enabled 2 in opensm.conf; on "
        "the host ip link set PF vf N state auto, and node_guid and port_guid that are not zero.");
  }
  if (*text == "2: INIT" && port.infiniband()) return probe.fail(kNoManager);
  if (physical.starts_with("3:")) {
    return probe.fail(
        "It is turned off: ip link set IF up; on InfiniBand ibportstate -D 0 1 enable.");
  }
  if (!physical.empty() && !physical.starts_with("5:")) {
    probe.action(action::kReplaceCable);
    return probe.fail(kCable);
  }
  probe.fail();
}

void phys_state(Probe& probe, const RdmaPort& port) {
  const auto text = probe.line(port.folder + "/phys_state");
  if (!text) return;
  probe.judge_by(*text == "5: LinkUp", Status::fail, *text, "5: LinkUp", Source::standard);
}

void link_layer(Probe& probe, const RdmaPort& port) {
  if (port.link_layer.empty()) return probe.skip("the port does not report its link layer");
  probe.compare("link_layer", port.link_layer, Status::fail);
}

/// Whether both are ports of the same kind of card, on links of the same kind.
bool same_board(Probe& probe, const RdmaPort& one, const RdmaPort& other) {
  const std::string board = probe.try_line(one.device->folder + "/board_id");
  return !board.empty() && one.link_layer == other.link_layer &&
         probe.try_line(other.device->folder + "/board_id") == board;
}

/// The fastest other port of the same kind of card that is in use and up.
double fastest_alike(Probe& probe, const RdmaPort& port, std::string& of) {
  double fastest = 0;
  for (const RdmaPort* const other : probe.node().ports_in_use()) {
    if (other == &port || !same_board(probe, port, *other)) continue;
    if (!probe.try_line(other->folder + "/state").starts_with("4:")) continue;
    const double rate = parse_port_rate(probe.try_line(other->folder + "/rate"));
    if (rate <= fastest) continue;
    fastest = rate;
    of = other->name;
  }
  return fastest;
}

void rate(Probe& probe, const RdmaPort& port) {
  const auto text = probe.line(port.folder + "/rate");
  if (!text) return;
  const double gbps = parse_port_rate(*text);
  probe.observe(*text);
  if (gbps == 0) return probe.error("the rate is not in Gb/sec");
  const std::string& driver = port.device->driver;
  if (driver == "rxe") return probe.skip("a software device has no rate");
  const Expectation* const wanted = probe.expectation("rate_gbps");
  const double least = wanted != nullptr ? leading_number(wanted->value).value_or(0) : 0;
  if (known_rate(gbps, driver) == 0 && (wanted == nullptr || gbps < least)) {
    return probe.skip("before Linux 6.13 every EFA device is called 100 Gb/s");
  }
  if (wanted != nullptr) {
    probe.expect(wanted->value + " Gb/s", wanted->source);
    return probe.judge_by(gbps >= least, Status::fail);
  }
  std::string other;
  const double fastest = fastest_alike(probe, port, other);
  if (fastest == 0) return probe.skip(std::string(kNothingToCompare));
  probe.expect(fmt::format("{:g} Gb/s, as {} of the same board has", fastest, other),
               Source::derived);
  probe.judge_by(gbps >= fastest, Status::fail);
}

void lanes(Probe& probe, const RdmaPort& port) {
  if (!port.infiniband()) return probe.skip("an Ethernet link may have any number of lanes");
  const auto text = probe.line(port.folder + "/rate");
  if (!text) return;
  const std::size_t begin = text->find('(');
  if (begin == std::string::npos) return probe.error(fmt::format("no lanes in '{}'", *text));
  const std::string width = text->substr(begin + 1, text->find('X', begin) - begin - 1);
  probe.observe(width + 'X');
  probe.expect("more than one lane", Source::standard);
  if (!to_number(width)) return probe.error(fmt::format("no lanes in '{}'", *text));
  probe.judge_by(width != "1", Status::fail);
}

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
    if (!same_board(probe, port, *other) || other->place() != port.place()) continue;
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

void flaps(Probe& probe, const RdmaPort& port) {
  constexpr double kAtStart = 6;  // the link goes up and down while driver and fabric start
  constexpr double kPerDay = 10;  // each loss of the carrier is two changes
  if (port.interface.empty()) return probe.skip("no network device belongs to the port");
  const auto changes = probe.number("sys/class/net/" + port.interface + "/carrier_changes");
  if (!changes) return;
  const auto up = uptime_s(probe);
  if (!up || *up <= 0) return probe.skip("the node does not report how long it has been up");
  const double days = std::max(*up / 86400, 1.0);
  probe.judge_by(static_cast<double>(*changes) <= kAtStart + kPerDay * days, Status::warn,
                 fmt::format("{} changes of the carrier in {:.1f} days", *changes, *up / 86400),
                 fmt::format("at most {:g}: {:g} at the start and {:g} a day",
                             kAtStart + kPerDay * days, kAtStart, kPerDay),
                 Source::standard);
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

/// A lane of 50 Gb/s or more has four levels (PAM4), which no standard allows without FEC. Below,
/// it depends on the cable: then both ends have to agree, and so should a node's peers. Several
/// drivers call two lanes of 25 Gb/s one, so a port of 50 Gb/s says nothing.
void fec(Probe& probe, const RdmaPort& port) {
  constexpr double kPam4Gbps = 50;
  if (!port.roce()) return probe.skip("only Ethernet ports report it here");
  const auto fact = ethernet_fact(probe, port, "fec");
  if (!fact) return;
  const std::string active = value_of_word(*fact, "active");
  if (active == "unknown") return probe.skip("the driver names no active mode");
  const std::string rate = probe.try_line(port.folder + "/rate");
  const std::size_t width = std::min(rate.find('('), rate.size() - 1);
  const double lanes = leading_number(std::string_view(rate).substr(width + 1)).value_or(0);
  const double gbps = parse_port_rate(rate);
  const bool needed = lanes > 0 && gbps > kPam4Gbps && gbps / lanes >= kPam4Gbps;
  if (probe.expectation("fec") != nullptr || !needed) {
    return probe.compare("fec", active, Status::fail);
  }
  probe.judge_by(active == "rs" || active == "llrs", Status::warn, active,
                 "rs or llrs, from 50 Gb/s per lane on", Source::standard);
}

void module(Probe& probe, const RdmaPort& port) {
  if (const auto fact = ethernet_fact(probe, port, "module")) probe.compare("module", *fact);
}

void rings(Probe& probe, const RdmaPort& port) {
  if (const auto fact = ethernet_fact(probe, port, "rings"))
    probe.compare("rx_ring", value_of_word(*fact, "rx"));
}

constexpr auto kPortRows = std::to_array<Check>({
    {{.id = "port.state",
      .title = "Logical state",
      .reads = "P/{state,phys_state}, D/physfn",
      .rests_on = "device.uverbs, pcie.alive",
      .rule =
          "FAIL unless ACTIVE; WARN in ARMED; SKIP of a virtual function whose physical one is down",
      .remedy = "Bring the link up: cable and switch port; on RoCE the network device.",
      .source = "facebookresearch/gcm check_iblink; sysfs-class-infiniband",
      .as_cause = "is down"},
     state},
    {{.id = "port.phys_state",
      .title = "Physical state",
      .reads = "P/phys_state",
      .rests_on = "port.state",
      .rule = "FAIL unless LinkUp",
      .remedy = kCable,
      .source = "imbue-ai/cluster-health; sysfs-class-infiniband",
      .action = action::kReplaceCable},
     phys_state},
    {{.id = "port.link_layer",
      .title = "Link layer",
      .reads = "P/link_layer",
      .rule = "FAIL if not the expected one",
      .remedy =
          "Set the port's type with the vendor's tool (mlxconfig LINK_TYPE_P1) and restart the node.",
      .source = "NCCL troubleshooting; facebookresearch/gcm",
      .compares = true},
     link_layer},
    {{.id = "port.rate",
      .title = "Rate",
      .reads = "P/{rate,state}, board_id",
      .rests_on = "port.state",
      .rule = "FAIL below the expected rate, or below another active port of the same board",
      .remedy = "Look at cable, transceiver and the switch port's speed, FEC and auto-negotiation.",
      .source = "Azure NHC check_hw_ib; facebookresearch/gcm",
      .action = action::kReplaceCable,
      .compares = true},
     rate},
    {{.id = "port.lanes",
      .title = "Lanes of the link",
      .reads = "P/rate",
      .rests_on = "port.state",
      .rule = "InfiniBand: FAIL with one lane",
      .remedy = "A lane of the cable or the connector is dead: reseat or change it.",
      .source = "InfiniBand specification 1.7, LinkWidthActive",
      .action = action::kReplaceCable},
     lanes},
    {{.id = "port.interface",
      .title = "State of the network device",
      .reads = "N/{operstate,flags}",
      .rests_on = "port.state",
      .rule = "RoCE: FAIL unless up; InfiniBand: WARN if it is configured and not up",
      .remedy = "Bring it up: ip link set IF up, and in the network configuration.",
      .source = "facebookresearch/gcm LINK_OPERSTATE_DOWN"},
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
    {{.id = "port.flaps",
      .title = "Stability of the carrier",
      .reads = "N/carrier_changes, proc/uptime",
      .rule = "WARN above 6 changes and 10 a day",
      .remedy = "Change cable or transceiver; look into the log of both ends.",
      .source = "azure_ib_link_flapping.nhc (five losses a day)",
      .action = action::kReplaceCable},
     flaps},
    {{.id = "port.subnet_manager",
      .title = "A subnet manager is known",
      .reads = "P/sm_lid",
      .rests_on = "port.state",
      .rule = "InfiniBand: FAIL if it is 0",
      .remedy =
          "Start a subnet manager (opensm) or look for why this port does not see it: sminfo.",
      .source = "NCCL troubleshooting; sysfs-class-infiniband",
      .as_cause = "has no subnet manager"},
     subnet_manager},
    {{.id = "port.lid",
      .title = "The port has a LID",
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
    {{.id = "port.fec",
      .title = "Forward error correction",
      .reads = "ethtool, P/rate",
      .rests_on = "port.state",
      .rule = "RoCE: FAIL if not the expected one; WARN without it from 50 Gb/s per lane on",
      .remedy = "ethtool --set-fec IF encoding MODE, and the same at the switch's port.",
      .source = "IEEE 802.3-2022, clauses 91, 119 and 134; Linux ethtool-netlink",
      .compares = true},
     fec},
    {{.id = "port.module",
      .title = "Link module",
      .reads = "ethtool",
      .rule = "WARN if not the expected one",
      .remedy = "Look at which cable or transceiver this port has: ethtool -m IF.",
      .source = "SFF-8024, SFF-8636, CMIS 5.2",
      .action = action::kReplaceCable,
      .root = true},
     module},
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

std::string ethernet_file(const RdmaPort& port) {
  return "rdmabench/ethernet/" + port.interface;
}

std::optional<std::string> ethernet_fact(Probe& probe, const RdmaPort& port, std::string_view key) {
  if (port.interface.empty()) {
    probe.skip("no network device belongs to the port");
    return std::nullopt;
  }
  const auto text = probe.text(ethernet_file(port));
  if (!text) return std::nullopt;
  std::string found = value_after(*text, key);
  if (!found.empty()) return found;
  if (probe.exists("sys/class/net/" + port.interface + "/bonding")) {
    probe.skip("it is a bond, whose ports are not looked at");
  } else {
    probe.skip(key == "module" ? "the driver does not report it, or only to root"
                               : "the driver does not report it");
  }
  return std::nullopt;
}

std::string value_of_word(std::string_view line, std::string_view key) {
  for (const std::string& word : words_of(line)) {
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') {
      return word.substr(key.size() + 1);
    }
  }
  return "";
}

constinit const std::span<const Check> kPortChecks = kPortRows;

}  // namespace rdmabench::inline v1::health

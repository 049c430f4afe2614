// Links of ports: whether they are up, as fast as others, and stay so.
#include <algorithm>
#include <array>

#include "base/port_rate.h"
#include "check.h"

namespace rdmabench::inline v1::health {

namespace {

constexpr std::string_view kNoManager =
    "The link is up and waits for a subnet manager: start one (opensm), or look at it with sminfo.";

/// opensm does not speak Omni-Path's management. Source: Linux include/rdma/opa_smi.h.
std::string_view manager_remedy(const RdmaPort& port) {
  return port.device->driver == "hfi1"
             ? "The link is up and waits for the fabric manager: start opafm, or look with opainfo."
             : kNoManager;
}

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
  if (*text == "3: ARMED") return probe.warn(manager_remedy(port));
  const RdmaPort* const parent = parent_of(probe, port);
  if (parent != nullptr && !parent->active()) {
    return probe.skip(fmt::format("port {}, whose virtual function it is, is down", parent->name));
  }
  if (!port.device->parent.empty() && port.infiniband()) {
    return probe.fail(
        "It is a virtual function, which the fabric turns on: virt_enabled 2 in opensm.conf; on "
        "the host ip link set PF vf N state auto, and node_guid and port_guid that are not zero.");
  }
  if (*text == "2: INIT" && port.infiniband()) return probe.fail(manager_remedy(port));
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

/// The fastest other port of the same kind of card that is in use and up.
double fastest_alike(Probe& probe, const RdmaPort& port, std::string& of) {
  double fastest = 0;
  for (const RdmaPort* const other : probe.node().ports_in_use()) {
    if (other == &port || !port.same_board(*other) || !other->active()) continue;
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

constexpr auto kPortRows = std::to_array<Check>({
    {{.id = "port.state",
      .title = "Logical state",
      .reads = "P/{state,phys_state}, D/physfn",
      .rests_on = "device.uverbs, pcie.alive",
      .rule =
          "FAIL unless ACTIVE; WARN in ARMED; SKIP of a virtual function whose physical one is down",
      .remedy = "Bring the link up: cable and switch port; on RoCE the network device.",
      .source =
          "facebookresearch/gcm health_checks/checks/check_iblink.py; sysfs-class-infiniband; Linux include/rdma/opa_smi.h",
      .as_cause = "is down"},
     state},
    {{.id = "port.phys_state",
      .title = "Physical state",
      .reads = "P/phys_state",
      .rests_on = "port.state",
      .rule = "FAIL unless LinkUp",
      .remedy = kCable,
      .source = "imbue-ai/cluster-health health_checks/health_checks.py; sysfs-class-infiniband",
      .action = action::kReplaceCable},
     phys_state},
    {{.id = "port.link_layer",
      .title = "Link layer",
      .reads = "P/link_layer",
      .rule = "FAIL if not the expected one",
      .remedy =
          "Set the port's type with the vendor's tool (mlxconfig LINK_TYPE_P1) and restart the node.",
      .source = "facebookresearch/gcm health_checks/checks/check_iblink.py, MLX5_PROTOCOL_MISMATCH",
      .compares = true},
     link_layer},
    {{.id = "port.rate",
      .title = "Rate",
      .reads = "P/{rate,state}, board_id",
      .rests_on = "port.state",
      .rule = "FAIL below the expected rate, or below another active port of the same board",
      .remedy = "Look at cable, transceiver and the switch port's speed, FEC and auto-negotiation.",
      .source =
          "mej/nhc scripts/lbnl_hw.nhc check_hw_ib; facebookresearch/gcm health_checks/checks/check_iblink.py",
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
    {{.id = "port.flaps",
      .title = "Stability of the carrier",
      .reads = "N/carrier_changes, proc/uptime",
      .rule = "WARN above 6 changes and 10 a day",
      .remedy = "Change cable or transceiver; look into the log of both ends.",
      .source = "azurehpc-health-checks customTests/azure_ib_link_flapping.nhc (five losses a day)",
      .action = action::kReplaceCable},
     flaps},
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
});

}  // namespace

constinit const std::span<const Check> kPortChecks = kPortRows;

}  // namespace rdmabench::inline v1::health

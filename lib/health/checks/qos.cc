// Settings against packet loss on RoCE. Some are files of NVIDIA's own driver of mlx5; what every
// driver may offer comes by netlink (ethernet.h).
#include <algorithm>
#include <array>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

/// False, with the finding SKIP, for ports without these settings.
bool has_qos(Probe& probe, const RdmaPort& port) {
  if (port.device->iwarp) {
    probe.skip(std::string(kIwarp));
  } else if (!port.roce()) {
    probe.skip("only RoCE needs it");
  } else if (port.interface.empty()) {
    probe.skip("no network device belongs to the port");
  } else if (probe.node().virtual_machine) {
    probe.skip("a virtual machine does not see the physical port's settings");
  } else {
    return true;
  }
  return false;
}

std::string folder(const RdmaPort& port) {
  return "sys/class/net/" + port.interface;
}

/// What the kernel's own drivers tell by DCB netlink; none, with the finding SKIP, if nothing.
/// mlx5's trusts the code point as soon as one has a priority. Source: Linux
/// mlx5/core/en_dcbnl.c, mlx5e_dcbnl_ieee_setapp().
std::optional<std::string> trust_of_kernel(Probe& probe, const RdmaPort& port) {
  const auto facts = probe.text(ethernet_file(port));
  if (!facts) return std::nullopt;
  bool answered = false;
  bool code_points = false;
  for (const std::string& line : lines_of(*facts)) {
    if (line.starts_with("trust ")) return line.substr(6);
    answered = answered || line.starts_with("pfc ");
    code_points = code_points || line.starts_with("prio:");
  }
  if (port.device->driver == "mlx5" && answered) return code_points ? "dscp" : "pcp";
  probe.skip("neither a file nor DCB tells");
  return std::nullopt;
}

void trust(Probe& probe, const RdmaPort& port) {
  if (!has_qos(probe, port)) return;
  std::optional<std::string> text = probe.try_line(folder(port) + "/qos/trust");
  if (text->empty()) text = trust_of_kernel(probe, port);
  if (!text) return;
  if (probe.expectation("trust") != nullptr) return probe.compare("trust", *text);
  probe.judge_by(*text == "dscp", Status::warn, *text, "dscp", Source::standard);
}

/// The priority of a code point in "prio:3 dscp:26,27," lists.
std::optional<std::uint64_t> priority_of(std::string_view text, std::uint64_t code) {
  std::optional<std::uint64_t> priority;
  for (const std::string& word : words_of(text)) {
    if (word.starts_with("prio:")) priority = to_number(std::string_view(word).substr(5));
    if (!word.starts_with("dscp:") || !priority) continue;
    for (std::string_view one : split(std::string_view(word).substr(5), ',')) {
      if (one.size() > 1 && one.starts_with('0')) one.remove_prefix(1);  // "07"
      if (to_number(one) == code) return priority;
    }
  }
  return std::nullopt;
}

void dscp(Probe& probe, const RdmaPort& port) {
  if (!has_qos(probe, port)) return;
  const std::string file = folder(port) + "/qos/dscp2prio";
  const bool by_netlink = !probe.exists(file);
  if (by_netlink && !ethernet_fact(probe, port, "pfc")) return;
  const auto text = probe.text(by_netlink ? ethernet_file(port) : file);
  if (!text) return;
  const Expectation* const tos = probe.expectation("tos");
  const Expectation* const priority = probe.expectation("priority");
  if (tos == nullptr || priority == nullptr) {
    return probe.skip("needs the plan: --expect tos=N --expect priority=N");
  }
  const std::uint64_t code = to_number(tos->value).value_or(0) >> 2;
  if (by_netlink && text->find("dscp:") == std::string::npos) {
    return probe.skip("the kernel has no code points: the VLAN tag or the firmware decides");
  }
  auto found = priority_of(*text, code);
  if (!found && by_netlink) found = 0;  // of the code points without a row beside others
  if (!found) return probe.error(fmt::format("code point {} is not in the list", code));
  probe.judge_by(std::to_string(*found) == priority->value, Status::fail,
                 fmt::format("code point {} has priority {}", code, *found),
                 "priority " + priority->value, priority->source);
}

/// Judges the priorities with it on; SKIP if the files cannot be read.
void congestion(Probe& probe, const RdmaPort& port, const std::string& role) {
  if (!has_qos(probe, port)) return;
  const std::string enable = folder(port) + "/ecn/" + role + "/enable";
  const Expectation* const wanted = probe.expectation("priority");
  std::string on;
  bool any = false;
  for (const std::string& priority : probe.list(enable)) {
    const auto value = probe.number(enable + '/' + priority);
    if (!value) return;
    any = true;
    if (*value == 1) on += (on.empty() ? "" : ",") + priority;
  }
  if (!any) return probe.skip(fmt::format("there is no {}", enable));
  probe.observe(on.empty() ? "on for no priority" : "on for " + on);
  if (wanted == nullptr) {
    probe.expect("on for the priority of RoCE", Source::standard);
    return probe.judge_by(!on.empty(), Status::warn);
  }
  probe.expect("on for priority " + wanted->value, wanted->source);
  probe.judge_by((',' + on + ',').find(',' + wanted->value + ',') != std::string::npos,
                 Status::warn);
}

void pfc(Probe& probe, const RdmaPort& port) {
  if (!has_qos(probe, port)) return;
  const auto on = ethernet_fact(probe, port, "pfc");
  if (!on) return;
  if (*on == "none" && port.device->driver.starts_with("bnxt")) {
    return probe.skip("bnxt reports what DCB has set, not what its firmware does");
  }
  if (probe.expectation("pfc") != nullptr) return probe.compare("pfc", *on, Status::fail);
  const std::string link = value_after(probe.try_text(ethernet_file(port)), "pause");
  const bool link_pause = *on == "none" && link == "rx=on tx=on";
  probe.observe(link_pause      ? "on for no priority, but the whole link is paused"
                : *on == "none" ? "on for no priority"
                                : "on for " + *on);
  if (const Expectation* const wanted = probe.expectation("priority")) {
    probe.expect("on for priority " + wanted->value, wanted->source);
    return probe.judge_by(('+' + *on + '+').find('+' + wanted->value + '+') != std::string::npos,
                          Status::fail);
  }
  if (*on == "none" && !link_pause) return probe.skip(std::string(kNothingToCompare));
  probe.expect("on for the priority of RoCE, not for all; or pause of the whole link",
               Source::standard);
  probe.judge_by(*on != "0+1+2+3+4+5+6+7", Status::warn);
}

/// A device that has both sends pause frames for the whole link, or ignores one of the two.
void pause(Probe& probe, const RdmaPort& port) {
  if (!has_qos(probe, port)) return;
  const auto fact = ethernet_fact(probe, port, "pause");
  if (!fact) return;
  const std::string priorities = value_after(probe.try_text(ethernet_file(port)), "pfc");
  const bool both =
      fact->find("=on") != std::string::npos && !priorities.empty() && priorities != "none";
  probe.judge_by(
      !both, Status::warn,
      fmt::format("rx {}, tx {}", value_of_word(*fact, "rx"), value_of_word(*fact, "tx")),
      "off, or no priority flow control beside it", Source::standard);
}

/// How much of the time pause frames held a port at most. A frame holds it for 65535 times 512 bits
/// (IEEE 802.1Qbb). One that sends so many holds the switch up: its host takes nothing, a storm.
void pause_frames(Probe& probe, const RdmaPort& port) {
  if (!has_qos(probe, port)) return;
  const auto facts = probe.text(ethernet_file(port));
  if (!facts) return;
  const auto rate = leading_number(probe.try_line(port.folder + "/rate"));
  const auto uptime = uptime_s(probe);
  if (facts->find("pfc ") == std::string::npos) return probe.skip("DCB tells nothing of this port");
  if (!rate || !uptime || *uptime <= 0) return probe.skip("its rate or the uptime is not known");
  double most = 0;
  std::string seen = "none";
  for (const std::string& line : lines_of(*facts)) {
    if (!line.starts_with("pfc_frames ")) continue;
    for (const std::string_view way : {"rx", "tx"}) {
      const double frames = static_cast<double>(to_number(value_of_word(line, way)).value_or(0));
      const double held = frames * 65535 * 512 / (*rate * 1e9) / *uptime;
      if (held <= most) continue;
      most = held;
      seen = fmt::format("{} {:.0f} of priority {}: {:.2g} % of the time",
                         way == "rx" ? "received" : "sent", frames, value_of_word(line, "prio"),
                         std::min(100 * held, 100.0));
    }
  }
  probe.judge_by(
      most <= 0.01, Status::warn, seen, "at most 1 % of the time", Source::standard,
      seen.starts_with("sent")
          ? "This node holds the switch up: look for its slow PCIe link, memory or IOMMU."
          : "");
}

constexpr auto kQosRows = std::to_array<Check>({
    {{.id = "qos.trust",
      .title = "Header field that gives the priority",
      .reads = "N/qos/trust, else DCB netlink",
      .rule = "RoCE: WARN unless dscp, or the expected one",
      .remedy =
          "mlnx_qos -i IF --trust dscp; with the kernel's driver dcb app add dev IF dscp-prio 26:3.",
      .source = "mlnx-tools python/mlnx_qos; Linux mlx5/core/en_dcbnl.c, net/dcb/dcbnl.c",
      .compares = true},
     trust},
    {{.id = "qos.pause_frames",
      .title = "Time that priority flow control held the port",
      .reads = "DCB netlink, P/rate, proc/uptime",
      .rule = "RoCE: WARN above 1 % since the start",
      .remedy =
          "The fabric holds this port up: look for the node that sends pause frames, and at ECN.",
      .source = "IEEE 802.1Qbb; Linux mlx5/core/en_dcbnl.c",
      .action = action::kInvestigate},
     pause_frames},
    {{.id = "qos.dscp",
      .title = "Priority of RoCE's code point",
      .reads = "N/qos/dscp2prio, else DCB netlink",
      .rule = "FAIL if tos >> 2 has not the expected priority",
      .remedy =
          "mlnx_qos -i IF --dscp2prio set,CODE,PRIORITY, or dcb app add dev IF dscp-prio CODE:PRIORITY.",
      .source = "mlnx-tools python/mlnx_qos; dcb-app(8)"},
     dscp},
    {{.id = "qos.pfc",
      .title = "Priority flow control",
      .reads = "DCB netlink",
      .rule =
          "RoCE: FAIL if not for the expected priority; WARN for all; SKIP for none, for a network may be lossy",
      .remedy =
          "dcb pfc set dev IF prio-pfc all:off PRIORITY:on, or mlnx_qos -i IF --pfc, and the same at the switch. "
          "On a lossy network: --expect pfc=none.",
      .source = "IEEE 802.1Q-2022, clause 36; dcb-pfc(8)",
      .compares = true},
     pfc},
    {{.id = "qos.pause",
      .title = "Pause of the whole link",
      .reads = "ethtool, DCB netlink",
      .rule = "RoCE: WARN if on beside priority flow control",
      .remedy = "ethtool -A IF rx off tx off, and the same at the switch.",
      .source = "IEEE 802.1Q-2022, clause 36"},
     pause},
    {{.id = "qos.ecn_notification",
      .title = "Congestion notifications to senders",
      .reads = "N/ecn/roce_np/enable/*",
      .rule = "RoCE: WARN if off for RoCE's priority",
      .remedy = "echo 1 > N/ecn/roce_np/enable/PRIORITY.",
      .source = "NVIDIA, DCQCN Parameters (enterprise support)",
      .compares = true},
     [](Probe& probe, const RdmaPort& port) { congestion(probe, port, "roce_np"); }},
    {{.id = "qos.ecn_reaction",
      .title = "Reaction to congestion notifications",
      .reads = "N/ecn/roce_rp/enable/*",
      .rule = "RoCE: WARN if off for RoCE's priority",
      .remedy = "echo 1 > N/ecn/roce_rp/enable/PRIORITY.",
      .source = "NVIDIA, DCQCN Parameters (enterprise support)",
      .compares = true},
     [](Probe& probe, const RdmaPort& port) { congestion(probe, port, "roce_rp"); }},
});

}  // namespace

constinit const std::span<const Check> kQosChecks = kQosRows;

}  // namespace rdmabench::inline v1::health

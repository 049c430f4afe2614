// Settings against packet loss on RoCE. Some are files of NVIDIA's own driver of mlx5; what every
// driver may offer comes by netlink (ethernet.h).
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

void trust(Probe& probe, const RdmaPort& port) {
  if (!has_qos(probe, port)) return;
  const auto text = probe.line(folder(port) + "/qos/trust");
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

constexpr auto kQosRows = std::to_array<Check>({
    {{.id = "qos.trust",
      .title = "Header field that gives the priority",
      .reads = "N/qos/trust",
      .rule = "RoCE: WARN unless dscp, or the expected one",
      .remedy = "mlnx_qos -i IF --trust dscp.",
      .source = "mlnx-tools mlnx_qos",
      .compares = true},
     trust},
    {{.id = "qos.dscp",
      .title = "RoCE's code point has the lossless priority",
      .reads = "N/qos/dscp2prio, else DCB netlink",
      .rule = "FAIL if tos >> 2 has not the expected priority",
      .remedy =
          "mlnx_qos -i IF --dscp2prio set,CODE,PRIORITY, or dcb app add dev IF dscp-prio CODE:PRIORITY.",
      .source = "mlnx-tools mlnx_qos; dcb-app(8)"},
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
      .title = "Tells senders of congestion",
      .reads = "N/ecn/roce_np/enable/*",
      .rule = "RoCE: WARN if off for RoCE's priority",
      .remedy = "echo 1 > N/ecn/roce_np/enable/PRIORITY.",
      .source = "NVIDIA DCQCN parameters",
      .compares = true},
     [](Probe& probe, const RdmaPort& port) { congestion(probe, port, "roce_np"); }},
    {{.id = "qos.ecn_reaction",
      .title = "Reaction to congestion notifications",
      .reads = "N/ecn/roce_rp/enable/*",
      .rule = "RoCE: WARN if off for RoCE's priority",
      .remedy = "echo 1 > N/ecn/roce_rp/enable/PRIORITY.",
      .source = "NVIDIA DCQCN parameters",
      .compares = true},
     [](Probe& probe, const RdmaPort& port) { congestion(probe, port, "roce_rp"); }},
});

}  // namespace

constinit const std::span<const Check> kQosChecks = kQosRows;

}  // namespace rdmabench::inline v1::health

// Environment variables that disable fast transports. Only those of environment_names() are read. A
// variable that is not set is a PASS, because that was observed.
#include <algorithm>
#include <array>

#include "check.h"

namespace rdmabench::inline v1::health {
namespace {

/// False, with the finding SKIP, if the environment was not read.
bool looked(Probe& probe) {
  const bool facts = probe.text("rdmabench/environment").has_value();
  if (!facts)
    probe.skip("the environment was not read: this is a saved tree without facts", Skipped::unread);
  return facts;
}

/// The value; none, with a verdict, if it is not set or was not read.
std::optional<std::string> value(Probe& probe, std::string_view name, std::string expected) {
  if (!looked(probe)) return std::nullopt;
  probe.expect(std::move(expected), Source::standard);
  auto found = environment(probe, name);
  probe.observe(found ? fmt::format("{}={}", name, *found) : "not set");
  if (!found) probe.pass();
  return found;
}

void ib_disable(Probe& probe) {
  if (const auto text = value(probe, "NCCL_IB_DISABLE", "not set, or 0")) {
    probe.judge_by(*text == "0" || probe.node().devices.empty(), Status::warn);
  }
}

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (const std::string_view one : split(list, ',')) {
    if (!one.empty()) parts.emplace_back(one);
  }
  return parts;
}

void ib_hca(Probe& probe) {
  const auto text = value(probe, "NCCL_IB_HCA", "names of ports that are there");
  if (!text) return;
  const NcclList list = nccl_list(*text);
  for (const NcclList::Item& item : list.items) {
    const NcclList one{.items = {item}, .without = false, .exact = list.exact};
    const auto& devices = probe.node().devices;
    const bool there = std::any_of(devices.begin(), devices.end(), [&](const RdmaDevice& device) {
      return std::any_of(device.ports.begin(), device.ports.end(),
                         [&](const RdmaPort& port) { return one.names(device.name, port.number); });
    });
    if (!there) return probe.warn();
  }
  probe.pass();
}

void socket_interface(Probe& probe) {
  auto text = value(probe, "NCCL_SOCKET_IFNAME", "names of network devices that are there");
  if (!text) return;
  std::string_view list = *text;
  if (list.starts_with('^')) return probe.pass();
  const bool exact = list.starts_with('=');
  if (exact) list.remove_prefix(1);
  const std::vector<std::string> interfaces = probe.list("sys/class/net");
  for (const std::string& part : parts_of(list)) {
    const bool there = std::any_of(
        interfaces.begin(), interfaces.end(),
        [&](const std::string& one) { return exact ? one == part : one.starts_with(part); });
    if (there) return probe.pass();
  }
  probe.warn();
}

void nccl_gid_index(Probe& probe) {
  const auto text =
      value(probe, "NCCL_IB_GID_INDEX", "not set, -1, or a RoCE v2 GID of every port");
  if (!text) return;
  const bool negative = text->starts_with('-') && to_number(std::string_view(*text).substr(1));
  if (negative) return probe.pass();  // NCCL's default: it chooses by itself
  const bool number = to_number(*text).has_value();
  for (const RdmaDevice& device : probe.node().devices) {
    for (const RdmaPort& port : device.ports) {
      if (!port.roce()) continue;
      const std::string type =
          number ? probe.try_line(port.folder + "/gid_attrs/types/" + *text) : "";
      if (type == "RoCE v2") continue;
      probe.observe(fmt::format("NCCL_IB_GID_INDEX={}, which is {} on {}", *text,
                                type.empty() ? "nothing" : type, port.name));
      return probe.fail();
    }
  }
  probe.pass();
}

void switched_off(Probe& probe) {
  std::string off;
  if (!looked(probe)) return;
  for (const std::string_view name :
       {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ"}) {
    const auto text = environment(probe, name);
    if (!text) continue;
    const bool disables = name.ends_with("DISABLE") ? *text == "1" : *text == "LOC" || *text == "0";
    if (disables) off += fmt::format("{}{}={}", off.empty() ? "" : ", ", name, *text);
  }
  probe.judge_by(off.empty(), Status::warn, off.empty() ? "nothing turned off" : off,
                 "nothing turned off", Source::standard);
}

void debug(Probe& probe) {
  if (const auto text = value(probe, "NCCL_DEBUG", "not TRACE")) {
    probe.judge_by(*text != "TRACE", Status::warn);
  }
}

void ucx_transports(Probe& probe) {
  const auto text = value(probe, "UCX_TLS", "all, or one that uses the RDMA device");
  if (!text) return;
  if (probe.node().devices.empty()) return probe.pass();
  static constexpr std::array<std::string_view, 6> kFast{"all", "ib", "rc", "dc", "ud", "srd"};
  const bool without = text->starts_with('^');
  bool named = false;
  for (std::string& part : parts_of(*text)) {
    std::erase(part, '^');
    std::erase(part, '\\');
    if (!without) part.resize(std::min(part.find('_'), part.size()));  // of rc_mlx5, ud_verbs
    named = named || std::find(kFast.begin(), kFast.end(), part) != kFast.end();
  }
  probe.judge_by(named != without, Status::warn);
}

void ucx_devices(Probe& probe) {
  const auto text = value(probe, "UCX_NET_DEVICES", "names of devices that are there");
  if (!text) return;
  if (*text == "all") return probe.pass();
  const std::vector<std::string> interfaces = probe.list("sys/class/net");
  for (const std::string& part : parts_of(*text)) {
    const std::string name = part.substr(0, part.find(':'));
    const auto& devices = probe.node().devices;
    const bool there = std::any_of(devices.begin(), devices.end(),
                                   [&](const RdmaDevice& device) { return device.name == name; }) ||
                       std::find(interfaces.begin(), interfaces.end(), part) != interfaces.end();
    if (!there) return probe.warn();
  }
  probe.pass();
}

void fabric_provider(Probe& probe) {
  const auto text = value(probe, "FI_PROVIDER", "one that uses the RDMA device");
  if (!text) return;
  const bool slow =
      text->starts_with("tcp") || text->starts_with("udp") || text->starts_with("sockets");
  probe.judge_by(!slow || probe.node().devices.empty(), Status::warn);
}

void efa_rdma(Probe& probe) {
  if (const auto text = value(probe, "FI_EFA_USE_DEVICE_RDMA", "not set, or 1")) {
    probe.judge_by(*text != "0", Status::warn);
  }
}

void fork_safe(Probe& probe) {
  std::string on;
  if (!looked(probe)) return;
  for (const std::string_view name : {"RDMAV_FORK_SAFE", "IBV_FORK_SAFE", "FI_EFA_FORK_SAFE"}) {
    const auto text = environment(probe, name);
    if (text && *text != "0") on += fmt::format("{}{}={}", on.empty() ? "" : ", ", name, *text);
  }
  probe.judge_by(on.empty(), Status::warn, on.empty() ? "not set" : on,
                 "not set: the kernel copies pages on fork since 5.12", Source::standard);
}

/// NCCL takes each line up to its first "=" for a name, with blanks and "export".
void config_files(Probe& probe) {
  if (!looked(probe)) return;
  const std::string text = probe.try_text("rdmabench/nccl_files");
  std::string seen;
  for (const std::string& line : lines_of(text)) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::string set = line.substr(tab + 1);
    const std::string name = set.substr(0, set.find('='));
    const std::string file = line.substr(0, tab);
    if (name.find(' ') != std::string::npos || set.substr(name.size()).starts_with("= ")) {
      probe.observe(fmt::format("'{}' of {}", set, file));
      probe.expect("NAME=VALUE without blanks, quotes or export", Source::standard);
      return probe.warn();
    }
    seen += fmt::format("{}{} of {}", seen.empty() ? "" : ", ", set, file);
  }
  probe.judge_by(true, Status::pass, seen.empty() ? "they set nothing" : seen,
                 "NAME=VALUE without blanks or export", Source::standard);
}

constexpr std::string_view kReads = "environment";
constexpr std::string_view kNccl = "NCCL environment variables";

constexpr auto kEnvRows = std::to_array<Check>({
    {{.id = "env.nccl_ib_disable",
      .title = "NCCL_IB_DISABLE",
      .reads = kReads,
      .rule = "WARN if set on a node with RDMA devices",
      .remedy = "unset NCCL_IB_DISABLE: it turns RoCE off too.",
      .source = kNccl,
      .compares = true},
     ib_disable},
    {{.id = "env.nccl_ib_hca",
      .title = "NCCL_IB_HCA",
      .reads = kReads,
      .rule = "WARN if a device that it names is not there",
      .remedy = "Set NCCL_IB_HCA to devices of this node, or unset it.",
      .source = kNccl,
      .compares = true},
     ib_hca},
    {{.id = "env.nccl_socket_ifname",
      .title = "NCCL_SOCKET_IFNAME",
      .reads = kReads,
      .rule = "WARN if no network device that it names is there",
      .remedy = "Set NCCL_SOCKET_IFNAME to a network device of every node, or unset it.",
      .source = kNccl,
      .compares = true},
     socket_interface},
    {{.id = "env.nccl_gid_index",
      .title = "NCCL_IB_GID_INDEX",
      .reads = "environment, P/gid_attrs/types/*",
      .rule = "FAIL if it is neither negative nor a RoCE v2 GID of every port",
      .remedy = "unset NCCL_IB_GID_INDEX: NCCL chooses by itself from 2.21 on.",
      .source = kNccl,
      .compares = true},
     nccl_gid_index},
    {{.id = "env.nccl_disabled",
      .title = "NCCL's fast ways",
      .reads = kReads,
      .rule =
          "WARN if NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, NCCL_NET_GDR_LEVEL or NCCL_NET_GDR_READ turns one off",
      .remedy = "unset what is named.",
      .source = kNccl,
      .compares = true},
     switched_off},
    {{.id = "env.nccl_files",
      .title = "NCCL's files",
      .reads = "environment, /etc/nccl.conf, ~/.nccl.conf or the file of NCCL_CONF_FILE",
      .rule = "WARN for a line that NCCL takes for another name or value than it looks",
      .remedy = "Write NAME=VALUE, as the file is not read by a shell.",
      .source = "NCCL src/misc/param.cc",
      .compares = true},
     config_files},
    {{.id = "env.nccl_debug",
      .title = "NCCL_DEBUG",
      .reads = kReads,
      .rule = "WARN if TRACE",
      .remedy = "Set NCCL_DEBUG to WARN or INFO.",
      .source = kNccl,
      .compares = true},
     debug},
    {{.id = "env.ucx_tls",
      .title = "UCX_TLS",
      .reads = kReads,
      .rule = "WARN if it leaves the RDMA transports out",
      .remedy = "unset UCX_TLS, or add rc.",
      .source = "UCX documentation, UCX_TLS",
      .compares = true},
     ucx_transports},
    {{.id = "env.ucx_net_devices",
      .title = "UCX_NET_DEVICES",
      .reads = kReads,
      .rule = "WARN if a device that it names is not there",
      .remedy = "Set UCX_NET_DEVICES to devices of this node (mlx5_0:1), or unset it.",
      .source = "UCX documentation, UCX_NET_DEVICES",
      .compares = true},
     ucx_devices},
    {{.id = "env.fi_provider",
      .title = "FI_PROVIDER",
      .reads = kReads,
      .rule = "WARN for tcp, udp or sockets on a node with RDMA devices",
      .remedy = "unset FI_PROVIDER, or name the device's provider: efa, verbs;ofi_rxm.",
      .source = "fi_provider(7)",
      .compares = true},
     fabric_provider},
    {{.id = "env.efa_device_rdma",
      .title = "FI_EFA_USE_DEVICE_RDMA",
      .reads = kReads,
      .rule = "WARN if 0",
      .remedy = "unset FI_EFA_USE_DEVICE_RDMA: without it reads and writes are emulated.",
      .source = "fi_efa(7)",
      .compares = true},
     efa_rdma},
    {{.id = "env.fork_safe",
      .title = "Fork safety",
      .reads = kReads,
      .rule = "WARN if RDMAV_FORK_SAFE, IBV_FORK_SAFE or FI_EFA_FORK_SAFE is on",
      .remedy = "unset it: it makes registration slower, and forbids huge pages to some.",
      .source = "ibv_fork_init(3); fi_efa(7)",
      .compares = true},
     fork_safe},
});

}  // namespace

constinit const std::span<const Check> kEnvChecks = kEnvRows;

}  // namespace rdmabench::inline v1::health

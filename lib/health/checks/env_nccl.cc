// Variables of NCCL.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "env.h"

namespace rdmabench::inline v1::health {
namespace {

/// As ncclLoadParam() reads it: any base, 0 for a text without a number, and `unset` for "".
std::int64_t nccl_number(const std::string& text, std::int64_t unset) {
  return text.empty() ? unset : std::strtoll(text.c_str(), nullptr, 0);
}

/// The value of a variable of NCCL that is a number; `unset` if it is not set.
std::int64_t nccl_parameter(Probe& probe, std::string_view name, std::int64_t unset) {
  return nccl_number(environment(probe, name).value_or(""), unset);
}

/// A port of verbs with InfiniBand or Ethernet: NCCL's own transport takes no other.
bool nccl_takes(const RdmaPort& port) {
  return port.infiniband() || port.roce();
}

bool has_port_for_nccl(Probe& probe) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (std::any_of(device.ports.begin(), device.ports.end(), nccl_takes)) return true;
  }
  return false;
}

void ib_disable(Probe& probe) {
  const auto text = value(probe, "NCCL_IB_DISABLE", "not set, or 0");
  if (!text) return;
  probe.judge_by(nccl_number(*text, 0) == 0 || !has_port_for_nccl(probe), Status::warn);
}

/// The name of a transport: "IB" and "Socket" are NCCL's own, any other is a plugin's.
void nccl_net(Probe& probe) {
  const auto text = value(probe, "NCCL_NET", "not set, or a transport that uses the RDMA device");
  if (!text) return;
  if (probe.node().devices.empty()) return probe.pass();
  if (same_letters(*text, "Socket")) {
    probe.observe(fmt::format("NCCL_NET={}: no RDMA", *text));
    return probe.warn();
  }
  if (!same_letters(*text, "IB")) {
    return probe.skip("NCCL fails unless a plugin has that name: NCCL_DEBUG=INFO tells");
  }
  if (has_port_for_nccl(probe)) return probe.pass();
  probe.observe(fmt::format("NCCL_NET={}, which uses no device of this node", *text));
  probe.warn();
}

/// What an item means that is the name of one device and the beginning of others' that NCCL takes:
/// "" for none.
std::string taken_too(Probe& probe, const NcclList& list) {
  if (list.exact) return "";
  const auto& devices = probe.node().devices;
  const auto names = [&](const std::string& name) {
    return std::any_of(list.items.begin(), list.items.end(),
                       [&](const NcclList::Item& item) { return item.name == name; });
  };
  for (const NcclList::Item& item : list.items) {
    if (std::none_of(devices.begin(), devices.end(),
                     [&](const RdmaDevice& device) { return device.name == item.name; })) {
      continue;
    }
    std::string more;
    for (const RdmaDevice& device : devices) {
      const auto is_taken = [&](const RdmaPort& port) {
        return nccl_takes(port) && port.active() && list.is(item, device.name, port.number);
      };
      if (!names(device.name) && std::any_of(device.ports.begin(), device.ports.end(), is_taken)) {
        add_to(more, device.name);
      }
    }
    if (!more.empty()) return fmt::format("where {} means {} too", item.name, more);
  }
  return "";
}

void ib_hca(Probe& probe) {
  constexpr std::string_view kName = "NCCL_IB_HCA";
  const auto text = value(probe, kName, "devices that are there, and both halves of a card");
  if (!text) return;
  const NcclList list(*text);
  const auto takes = [&](const RdmaPort& port) {
    return list.takes(port.device->name, port.number);
  };
  const auto any_port = [&](auto wanted) {
    for (const RdmaDevice& device : probe.node().devices) {
      if (std::any_of(device.ports.begin(), device.ports.end(), wanted)) return true;
    }
    return false;
  };
  for (const NcclList::Item& item : list.items) {
    const bool there = any_port(
        [&](const RdmaPort& port) { return list.is(item, port.device->name, port.number); });
    if (!there && !list.without) return blame(probe, kName, *text, item.name + " is not there");
  }
  if (!any_port(takes) && !probe.node().devices.empty()) {
    return blame(probe, kName, *text, "which leaves no device");
  }
  const std::string missing = missing_halves(probe, takes);
  const std::string more = taken_too(probe, list);
  if (more.empty() && missing.empty()) return probe.pass();
  if (more.empty()) return blame(probe, kName, *text, missing);
  probe.observe(
      fmt::format("{}={}, {}{}{}", kName, *text, more, missing.empty() ? "" : "; ", missing));
  probe.warn("Begin the list with '=', or '^=': then names are whole.");
}

void socket_interface(Probe& probe) {
  const auto text = value(probe, "NCCL_SOCKET_IFNAME", "names of network devices that are there");
  if (!text) return;
  if (text->size() < 2) return probe.pass();  // NCCL takes it as not set
  const NcclList list(*text);
  const std::vector<std::string> interfaces = probe.list("sys/class/net");
  if (interfaces.empty()) return probe.skip("the node shows no network device");
  probe.judge_by(std::any_of(interfaces.begin(), interfaces.end(),
                             [&](const std::string& one) { return list.takes(one); }),
                 Status::warn);
}

void nccl_gid_index(Probe& probe) {
  constexpr std::string_view kName = "NCCL_IB_GID_INDEX";
  if (!looked(probe)) return;
  probe.expect("a RoCE v2 GID of an IP address on every port", Source::standard);
  const auto text = environment(probe, kName);
  const std::int64_t index = nccl_number(text.value_or(""), -1);
  probe.observe(text ? fmt::format("{}={}", kName, *text) : "not set");
  const NcclList list(environment(probe, "NCCL_IB_HCA").value_or(""));
  const auto takes = [&](const RdmaPort& port) {
    return list.takes(port.device->name, port.number);
  };
  if (index >= 0) {
    return judge_gids(probe, fmt::format("{}={}", kName, *text), takes,
                      [&](const std::vector<Gid>&) { return static_cast<std::uint64_t>(index); });
  }
  // NCCL chooses. That matters where it would run, and with a range it cannot be told here.
  if (probe.node().gpus.empty() || environment(probe, "NCCL_IB_ADDR_RANGE")) return probe.pass();
  const bool ipv6 = environment(probe, "NCCL_IB_ADDR_FAMILY").value_or("") == "AF_INET6";
  const auto version =
      static_cast<std::uint64_t>(nccl_parameter(probe, "NCCL_IB_ROCE_VERSION_NUM", 2));
  judge_gids(probe, "", takes,
             [&](const std::vector<Gid>& gids) { return gid_of_nccl(gids, ipv6, version); });
}

/// A number that has to be in a range; `fault` is what follows from another.
void in_range(Probe& probe, std::string_view name, std::int64_t low, std::int64_t high,
              std::string_view fault) {
  const auto text = value(probe, name, fmt::format("not set, or {} to {}", low, high));
  if (!text) return;
  const std::int64_t number = nccl_number(*text, low);
  if (number >= low && number <= high) return probe.pass();
  blame(probe, name, *text, fault);
}

void nccl_traffic_class(Probe& probe) {
  constexpr std::string_view kName = "NCCL_IB_TC";
  const Expectation* const wanted = probe.expectation("tos");
  const auto text = value(probe, kName, "not set, or -1 to 255");
  if (!text) return;
  const std::int64_t number = nccl_number(*text, -1);
  if (number < -1 || number > 255) return blame(probe, kName, *text, "of which 8 bits are used");
  if (wanted == nullptr || number < 0) return probe.pass();
  probe.expect(wanted->value, wanted->source);
  probe.judge_by(std::to_string(number) == wanted->value, Status::warn);
}

void nccl_service_level(Probe& probe) {
  in_range(probe, "NCCL_IB_SL", -1, 15, "of which 4 bits are used");
}

void nccl_timeout(Probe& probe) {
  in_range(probe, "NCCL_IB_TIMEOUT", 1, 22,
           "with which a peer that is gone is waited for without end");
}

void nccl_retries(Probe& probe) {
  in_range(probe, "NCCL_IB_RETRY_CNT", 1, 7,
           "with which the first lost packet ends the job, or no connection is made");
}

/// NCCL's distances, nearest first. Source: NCCL src/graph/topo.cc, topoPathTypeStr.
bool is_nccl_distance(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kNames{"LOC", "NVL", "NVB", "C2C", "PIX",
                                                           "PXB", "P2C", "PXN", "PHB", "SYS"};
  return std::find(kNames.begin(), kNames.end(), text) != kNames.end();
}

void switched_off(Probe& probe) {
  if (!looked(probe)) return;
  std::string off;
  const auto add = [&](std::string_view name, std::string_view what) {
    if (const auto text = environment(probe, name)) {
      add_to(off, fmt::format("{}={}{}", name, *text, what));
    }
  };
  if (nccl_parameter(probe, "NCCL_P2P_DISABLE", 0) == 1) add("NCCL_P2P_DISABLE", "");
  if (nccl_parameter(probe, "NCCL_SHM_DISABLE", 0) == 1) add("NCCL_SHM_DISABLE", "");
  if (nccl_parameter(probe, "NCCL_NET_GDR_READ", 1) == 0) add("NCCL_NET_GDR_READ", "");
  if (const auto level = environment(probe, "NCCL_NET_GDR_LEVEL"); level && !level->empty()) {
    const bool digit = level->front() >= '0' && level->front() <= '9';
    if (*level == "LOC" || (digit && nccl_number(*level, 1) == 0)) {
      add("NCCL_NET_GDR_LEVEL", "");
    } else if (!digit && !is_nccl_distance(*level)) {
      add("NCCL_NET_GDR_LEVEL", " (no distance of NCCL: ignored)");
    }
  }
  probe.judge_by(off.empty(), Status::warn, off.empty() ? "nothing turned off" : off,
                 "nothing turned off", Source::standard);
}

void debug(Probe& probe) {
  if (const auto text = value(probe, "NCCL_DEBUG", "not TRACE")) {
    probe.judge_by(!same_letters(*text, "TRACE"), Status::warn);
  }
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

constexpr auto kNcclRows = std::to_array<Check>({
    {{.id = "env.nccl_ib_disable",
      .title = "NCCL_IB_DISABLE",
      .reads = kEnvironment,
      .rule = "WARN if not 0 on a node with an InfiniBand or RoCE port",
      .remedy = "unset NCCL_IB_DISABLE: it turns RoCE off too.",
      .source = "NCCL src/transport/net_ib/init.cc",
      .compares = true},
     ib_disable},
    {{.id = "env.nccl_net",
      .title = "NCCL_NET",
      .reads = kEnvironment,
      .rule =
          "WARN for Socket on a node with RDMA devices, and for IB without an InfiniBand or RoCE port",
      .remedy = "unset NCCL_NET: NCCL takes the best transport that it finds.",
      .source = "NCCL src/plugin/net.cc",
      .compares = true},
     nccl_net},
    {{.id = "env.nccl_ib_hca",
      .title = "NCCL_IB_HCA",
      .reads = "environment, P/state, sys_image_guid",
      .rule =
          "WARN if a device that it names is not there, or means others too, none is left, or one half of a card",
      .remedy = "Set NCCL_IB_HCA to devices of this node, or unset it.",
      .source = "NCCL src/transport/net_ib/init.cc, src/misc/utils.cc",
      .compares = true},
     ib_hca},
    {{.id = "env.nccl_socket_ifname",
      .title = "NCCL_SOCKET_IFNAME",
      .reads = kEnvironment,
      .rule = "WARN if it leaves no network device",
      .remedy = "Set NCCL_SOCKET_IFNAME to a network device of every node, or unset it.",
      .source = "NCCL src/misc/socket.cc",
      .compares = true},
     socket_interface},
    {{.id = "env.nccl_gid_index",
      .title = "NCCL_IB_GID_INDEX",
      .reads = "environment, P/{state,gids,gid_attrs/{types,ndevs}/*}",
      .rule =
          "RoCE: WARN if the index that is set, or else taken by NCCL, is empty, link-local, RoCE v1 or of another namespace, and a better one is there",
      .remedy =
          "Set NCCL_IB_GID_INDEX to the better index, or unset it: NCCL chooses by itself from 2.21 on, of IPv6 with NCCL_IB_ADDR_FAMILY=AF_INET6.",
      .source = "NCCL src/transport/net_ib/connect.cc, ncclIbGetGidIndex",
      .compares = true},
     nccl_gid_index},
    {{.id = "env.nccl_traffic_class",
      .title = "NCCL_IB_TC",
      .reads = kEnvironment,
      .rule = "WARN if not the expected type of service, or of more than 8 bits",
      .remedy = "Set NCCL_IB_TC to the type of service of the lossless priority, or unset it.",
      .source = "NCCL src/transport/net_ib/connect.cc; ibv_modify_qp(3)",
      .compares = true},
     nccl_traffic_class},
    {{.id = "env.nccl_service_level",
      .title = "NCCL_IB_SL",
      .reads = kEnvironment,
      .rule = "WARN outside of 0 to 15",
      .remedy = "unset NCCL_IB_SL, or take a service level of the subnet manager.",
      .source = "NCCL src/transport/net_ib/connect.cc; ibv_modify_qp(3)",
      .compares = true},
     nccl_service_level},
    {{.id = "env.nccl_timeout",
      .title = "NCCL_IB_TIMEOUT",
      .reads = kEnvironment,
      .rule = "WARN outside of 1 to 22",
      .remedy = "unset NCCL_IB_TIMEOUT: NCCL takes 20.",
      .source = "NCCL environment variables, NCCL_IB_TIMEOUT",
      .compares = true},
     nccl_timeout},
    {{.id = "env.nccl_retries",
      .title = "NCCL_IB_RETRY_CNT",
      .reads = kEnvironment,
      .rule = "WARN outside of 1 to 7",
      .remedy = "unset NCCL_IB_RETRY_CNT: NCCL takes 7.",
      .source = "NCCL src/transport/net_ib/connect.cc; ibv_modify_qp(3)",
      .compares = true},
     nccl_retries},
    {{.id = "env.nccl_disabled",
      .title = "NCCL's fast ways",
      .reads = kEnvironment,
      .rule =
          "WARN if NCCL_P2P_DISABLE, NCCL_SHM_DISABLE, NCCL_NET_GDR_LEVEL or NCCL_NET_GDR_READ turns one off, or is a distance that NCCL does not know",
      .remedy = "unset what is named.",
      .source = "NCCL src/graph/paths.cc, src/transport/shm.cc",
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
      .reads = kEnvironment,
      .rule = "WARN if TRACE",
      .remedy = "Set NCCL_DEBUG to WARN or INFO.",
      .source = "NCCL src/debug.cc",
      .compares = true},
     debug},
});

}  // namespace

constinit const std::span<const Check> kNcclChecks = kNcclRows;

}  // namespace rdmabench::inline v1::health

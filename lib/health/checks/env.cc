// Environment variables that take the network away from a program, or set it wrongly. Only those of
// environment_names() are read, and each is judged by what its library does with the value
// (docs/doctor.md). A variable that is not set is a PASS, because that was observed.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "check.h"
#include "gid.h"

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

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (const std::string_view one : split(list, ',')) {
    if (!one.empty()) parts.emplace_back(one);
  }
  return parts;
}

void add_to(std::string& list, std::string_view text) {
  list += fmt::format("{}{}", list.empty() ? "" : ", ", text);
}

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

bool same_letters(std::string_view first, std::string_view second) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [&](char a, char b) { return small(a) == small(b); });
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

bool is_down(Probe& probe, const RdmaPort& port) {
  const std::string state = probe.try_line(port.folder + "/state");
  return !state.empty() && !state.starts_with("4:");
}

/// What a list says of a card whose one port is behind several PCIe links: "" unless it has one
/// half and not the other.
template <class Takes>
std::string missing_halves(Probe& probe, Takes takes) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (device.ports.empty() || !takes(device.ports.front())) continue;
    if (is_down(probe, device.ports.front())) continue;
    std::string all;
    std::string missing;
    for (const RdmaDevice* const half : halves_of(probe, device)) {
      all += (all.empty() ? "" : ",") + half->name;
      if (!half->ports.empty() && !takes(half->ports.front())) add_to(missing, half->name);
    }
    if (!missing.empty()) {
      return fmt::format("without {}, the other half of {}'s card: name {}", missing, device.name,
                         all);
    }
  }
  return "";
}

/// Appends what is wrong to what was observed, and warns.
void blame(Probe& probe, std::string_view name, std::string_view text, std::string_view fault) {
  probe.observe(fmt::format("{}={}, {}", name, text, fault));
  probe.warn();
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
  if (!missing.empty()) return blame(probe, kName, *text, missing);
  probe.pass();
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

/// Every active RoCE port that `takes` has: what is wrong with the entry that `index` chooses.
template <class Takes, class Index>
void judge_gids(Probe& probe, const std::string& said, Takes takes, Index index) {
  std::size_t judged = 0;
  for (const RdmaDevice& device : probe.node().devices) {
    for (const RdmaPort& port : device.ports) {
      if (!port.roce() || !takes(port) || is_down(probe, port)) continue;
      const std::vector<Gid> gids = gids_of(probe, port);
      if (gids.empty()) continue;  // address.gid judges that
      ++judged;
      const std::uint64_t chosen = index(gids);
      const std::string fault = fault_of_gid(gids, chosen);
      const Gid* const better = best_gid(gids);
      // Without a better one address.roce_v2 tells of it.
      if (fault.empty() || better == nullptr) continue;
      probe.observe(
          fmt::format("{}{} is {}, on {}; index {} is {}", said,
                      said.empty() ? fmt::format("not set, and NCCL takes {}, which", chosen) : "",
                      fault, port.name, better->index, better->address()));
      return probe.warn();
    }
  }
  if (judged == 0 && !said.empty()) return probe.skip("no active RoCE port would use it");
  probe.pass();
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

/// The transports of UCX that use an RDMA device, and the names that stand for several. Source: UCX
/// src/ucp/core/ucp_context.c, ucp_tl_aliases.
struct UcxAlias {
  std::string_view name;
  std::string_view transports;
};

constexpr std::array<UcxAlias, 10> kUcxAliases{
    {{"ib", "rc_verbs ud_verbs rc_mlx5 ud_mlx5 dc_mlx5 srd"},
     {"rc", "rc_mlx5 rc_verbs"},
     {"rc_v", "rc_verbs"},
     {"rc_x", "rc_mlx5"},
     {"ud", "ud_mlx5 ud_verbs"},
     {"ud_v", "ud_verbs"},
     {"ud_x", "ud_mlx5"},
     {"dc", "dc_mlx5"},
     {"dc_x", "dc_mlx5"},
     {"all", "rc_verbs ud_verbs rc_mlx5 ud_mlx5 dc_mlx5 srd"}}};

/// What a word of UCX_TLS stands for: "\NAME" is a transport's own name, "NAME:aux" serves only to
/// connect.
std::vector<std::string> ucx_transports_of(std::string_view word) {
  if (word.find(':') != std::string_view::npos) return {};
  if (word.starts_with('\\')) return {std::string(word.substr(1))};
  for (const UcxAlias& alias : kUcxAliases) {
    if (alias.name == word) return words_of(alias.transports);
  }
  return {std::string(word)};
}

void ucx_transports(Probe& probe) {
  const auto text = value(probe, "UCX_TLS", "all, or one that uses the RDMA device");
  if (!text) return;
  std::vector<std::string> usable;
  for (const RdmaDevice& device : probe.node().devices) {
    for (const std::string& one :
         words_of(device.driver == "efa"    ? "srd ud_verbs"
                  : device.driver == "mlx5" ? "rc_mlx5 dc_mlx5 ud_mlx5 rc_verbs ud_verbs"
                                            : "rc_verbs ud_verbs")) {
      usable.push_back(one);
    }
  }
  if (usable.empty()) return probe.pass();
  std::string_view list = *text;
  const bool others = list.starts_with('^');
  if (others) list.remove_prefix(1);
  std::vector<std::string> named;
  for (const std::string& word : parts_of(list)) {
    for (std::string& one : ucx_transports_of(word)) named.push_back(std::move(one));
  }
  const bool left = std::any_of(usable.begin(), usable.end(), [&](const std::string& one) {
    return (std::find(named.begin(), named.end(), one) != named.end()) != others;
  });
  probe.judge_by(left, Status::warn);
}

/// UCX expands "mlx5_[0-3]:1". Source: UCX src/ucs/config/parser.c,
/// ucs_config_array_expand_range().
std::vector<std::string> expanded(const std::string& word) {
  constexpr std::uint64_t kMost = 256;
  const std::size_t begin = word.find('[');
  const std::size_t end = word.find(']', begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos || end == std::string::npos) return {word};
  std::vector<std::string> words;
  for_each_range(
      word.substr(begin + 1, end - begin - 1), [&](std::uint64_t low, std::uint64_t high) {
        for (std::uint64_t i = low; i <= high && words.size() < kMost; ++i) {
          words.push_back(word.substr(0, begin) + std::to_string(i) + word.substr(end + 1));
        }
      });
  return words.empty() ? std::vector<std::string>{word} : words;
}

void ucx_devices(Probe& probe) {
  constexpr std::string_view kName = "UCX_NET_DEVICES";
  const auto text = value(probe, kName, "names of devices that are there, and an RDMA device");
  if (!text) return;
  if (*text == "all") return probe.pass();
  std::string_view list = *text;
  const bool others = list.starts_with('^');
  if (others) list.remove_prefix(1);
  std::vector<std::string> names;
  for (const std::string& part : parts_of(list)) {
    for (std::string& one : expanded(part)) names.push_back(std::move(one));
  }
  const auto named = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto takes = [&](const RdmaPort& port) {
    return (named(port.name) || named(port.device->name)) != others;
  };
  const std::vector<std::string> interfaces = probe.list("sys/class/net");
  bool left = false;
  for (const RdmaDevice& device : probe.node().devices) {
    left = left || std::any_of(device.ports.begin(), device.ports.end(), takes);
  }
  for (const std::string& name : names) {
    bool there = std::find(interfaces.begin(), interfaces.end(), name) != interfaces.end();
    for (const RdmaDevice& device : probe.node().devices) {
      there = there || device.name == name;
      for (const RdmaPort& port : device.ports) there = there || port.name == name;
    }
    if (!there && !others) return blame(probe, kName, *text, name + " is not there");
  }
  if (!left && !probe.node().devices.empty()) {
    return blame(probe, kName, *text, "which leaves no RDMA device");
  }
  const std::string missing = missing_halves(probe, takes);
  if (!missing.empty()) return blame(probe, kName, *text, missing);
  probe.pass();
}

void ucx_gid_index(Probe& probe) {
  constexpr std::string_view kName = "UCX_IB_GID_INDEX";
  const auto text = value(probe, kName, "not set, auto, or a RoCE v2 GID of every port");
  if (!text || same_letters(*text, "auto")) return text ? probe.pass() : void();
  const auto index = to_number(*text);
  if (!index) return blame(probe, kName, *text, "which is no number");
  judge_gids(
      probe, fmt::format("{}={}", kName, *text), [](const RdmaPort&) { return true; },
      [&](const std::vector<Gid>&) { return *index; });
}

/// A list of providers, "^" for all others; "verbs;ofi_rxm" takes verbs. Source: libfabric
/// src/fabric.c, ofi_create_filter() and ofi_apply_prov_init_filter().
void fabric_provider(Probe& probe) {
  const auto text = value(probe, "FI_PROVIDER", "one that uses the RDMA device");
  if (!text) return;
  if (probe.node().devices.empty() || text->empty()) return probe.pass();
  std::string_view list = *text;
  const bool others = list.starts_with('^');
  if (others) list.remove_prefix(1);
  static constexpr std::array<std::string_view, 8> kSlow{"tcp", "udp", "sockets", "shm",
                                                         "sm2", "net", "ofi_rxm", "ofi_rxd"};
  const bool efa = std::all_of(probe.node().devices.begin(), probe.node().devices.end(),
                               [](const RdmaDevice& device) { return device.driver == "efa"; });
  bool fast = false;
  bool excluded = false;
  for (const std::string& part : parts_of(list)) {
    for (const std::string_view name : split(part, ';')) {
      const bool slow = std::any_of(kSlow.begin(), kSlow.end(),
                                    [&](std::string_view one) { return same_letters(one, name); });
      fast = fast || !slow;
    }
    excluded = excluded || same_letters(part, efa ? "efa" : "verbs");
  }
  probe.judge_by(others ? !excluded : fast, Status::warn);
}

/// As fi_parse_bool() of libfabric's src/var.c reads it; none for another text, which is ignored.
std::optional<bool> fabric_bool(std::string_view text) {
  for (const std::string_view off : {"0", "false", "no", "off"}) {
    if (same_letters(text, off)) return false;
  }
  for (const std::string_view on : {"1", "true", "yes", "on"}) {
    if (same_letters(text, on)) return true;
  }
  return std::nullopt;
}

void efa_rdma(Probe& probe) {
  const auto text = value(probe, "FI_EFA_USE_DEVICE_RDMA", "not set, or 1");
  if (!text) return;
  const auto& devices = probe.node().devices;
  const bool efa = std::any_of(devices.begin(), devices.end(),
                               [](const RdmaDevice& device) { return device.driver == "efa"; });
  if (!efa) return probe.pass();
  const auto on = fabric_bool(*text);
  if (!on) return blame(probe, "FI_EFA_USE_DEVICE_RDMA", *text, "which libfabric ignores");
  probe.judge_by(*on, Status::warn);
}

/// The libraries ask the kernel first whether it copies on fork, and then do nothing. Source:
/// rdma-core libibverbs/memory.c, libfabric prov/efa/src/efa_fork_support.c.
void fork_safe(Probe& probe) {
  std::string on;
  if (!looked(probe)) return;
  for (const std::string_view name :
       {"RDMAV_FORK_SAFE", "IBV_FORK_SAFE", "FI_EFA_FORK_SAFE", "RDMAV_HUGEPAGES_SAFE"}) {
    const auto text = environment(probe, name);
    if (!text) continue;
    const bool set = name.starts_with("FI_") ? fabric_bool(*text).value_or(false)
                                             : name.ends_with("HUGEPAGES_SAFE") || *text != "0";
    if (set) add_to(on, fmt::format("{}={}", name, *text));
  }
  probe.observe(on.empty() ? "not set" : on);
  probe.expect("not set, or a kernel that copies pages on fork, from 5.12 on", Source::standard);
  if (on.empty() || kernel_is(probe, 5, 12)) return probe.pass();
  const std::string release = probe.try_line("proc/sys/kernel/osrelease");
  if (release.empty() || release.find(".el") != std::string::npos) {
    return probe.skip(
        "this kernel may copy pages on fork: Red Hat brought that back to older ones");
  }
  probe.warn();
}

/// mlx5 takes no locks then. Source: rdma-core providers/mlx5/mlx5.c, single_threaded_app().
void single_threaded(Probe& probe) {
  if (const auto text = value(probe, "MLX5_SINGLE_THREADED", "not set, or not 1")) {
    probe.judge_by(*text != "1", Status::warn);
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

constexpr std::string_view kReads = "environment";

constexpr auto kEnvRows = std::to_array<Check>({
    {{.id = "env.nccl_ib_disable",
      .title = "NCCL_IB_DISABLE",
      .reads = kReads,
      .rule = "WARN if not 0 on a node with an InfiniBand or RoCE port",
      .remedy = "unset NCCL_IB_DISABLE: it turns RoCE off too.",
      .source = "NCCL src/transport/net_ib/init.cc",
      .compares = true},
     ib_disable},
    {{.id = "env.nccl_net",
      .title = "NCCL_NET",
      .reads = kReads,
      .rule =
          "WARN for Socket on a node with RDMA devices, and for IB without an InfiniBand or RoCE port",
      .remedy = "unset NCCL_NET: NCCL takes the best transport that it finds.",
      .source = "NCCL src/plugin/net.cc",
      .compares = true},
     nccl_net},
    {{.id = "env.nccl_ib_hca",
      .title = "NCCL_IB_HCA",
      .reads = "environment, P/state, sys_image_guid",
      .rule = "WARN if a device that it names is not there, none is left, or one half of a card",
      .remedy = "Set NCCL_IB_HCA to devices of this node, or unset it.",
      .source = "NCCL src/transport/net_ib/init.cc, src/misc/utils.cc",
      .compares = true},
     ib_hca},
    {{.id = "env.nccl_socket_ifname",
      .title = "NCCL_SOCKET_IFNAME",
      .reads = kReads,
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
      .reads = kReads,
      .rule = "WARN if not the expected type of service, or of more than 8 bits",
      .remedy = "Set NCCL_IB_TC to the type of service of the lossless priority, or unset it.",
      .source = "NCCL src/transport/net_ib/connect.cc; ibv_modify_qp(3)",
      .compares = true},
     nccl_traffic_class},
    {{.id = "env.nccl_service_level",
      .title = "NCCL_IB_SL",
      .reads = kReads,
      .rule = "WARN outside of 0 to 15",
      .remedy = "unset NCCL_IB_SL, or take a service level of the subnet manager.",
      .source = "NCCL src/transport/net_ib/connect.cc; ibv_modify_qp(3)",
      .compares = true},
     nccl_service_level},
    {{.id = "env.nccl_timeout",
      .title = "NCCL_IB_TIMEOUT",
      .reads = kReads,
      .rule = "WARN outside of 1 to 22",
      .remedy = "unset NCCL_IB_TIMEOUT: NCCL takes 20.",
      .source = "NCCL environment variables, NCCL_IB_TIMEOUT",
      .compares = true},
     nccl_timeout},
    {{.id = "env.nccl_retries",
      .title = "NCCL_IB_RETRY_CNT",
      .reads = kReads,
      .rule = "WARN outside of 1 to 7",
      .remedy = "unset NCCL_IB_RETRY_CNT: NCCL takes 7.",
      .source = "NCCL src/transport/net_ib/connect.cc; ibv_modify_qp(3)",
      .compares = true},
     nccl_retries},
    {{.id = "env.nccl_disabled",
      .title = "NCCL's fast ways",
      .reads = kReads,
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
      .reads = kReads,
      .rule = "WARN if TRACE",
      .remedy = "Set NCCL_DEBUG to WARN or INFO.",
      .source = "NCCL src/debug.cc",
      .compares = true},
     debug},
    {{.id = "env.ucx_tls",
      .title = "UCX_TLS",
      .reads = kReads,
      .rule = "WARN if it leaves no transport that uses a device",
      .remedy = "unset UCX_TLS, or add rc.",
      .source = "UCX src/ucp/core/ucp_context.c",
      .compares = true},
     ucx_transports},
    {{.id = "env.ucx_net_devices",
      .title = "UCX_NET_DEVICES",
      .reads = "environment, P/state, sys_image_guid",
      .rule =
          "WARN if a device that it names is not there, no RDMA device is left, or one half of a card",
      .remedy = "Set UCX_NET_DEVICES to devices of this node (mlx5_0:1), or unset it.",
      .source = "UCX src/ucp/core/ucp_context.c, src/ucs/config/parser.c",
      .compares = true},
     ucx_devices},
    {{.id = "env.ucx_gid_index",
      .title = "UCX_IB_GID_INDEX",
      .reads = "environment, P/{state,gids,gid_attrs/{types,ndevs}/*}",
      .rule =
          "RoCE: WARN if it is no number, or an index that is empty, link-local, RoCE v1 or of another namespace, and a better one is there",
      .remedy = "unset UCX_IB_GID_INDEX: UCX takes the best.",
      .source = "UCX src/uct/ib/base/ib_device.c, uct_ib_device_select_gid",
      .compares = true},
     ucx_gid_index},
    {{.id = "env.fi_provider",
      .title = "FI_PROVIDER",
      .reads = kReads,
      .rule = "WARN if it leaves no provider that uses a device",
      .remedy = "unset FI_PROVIDER, or name the device's provider: efa, verbs;ofi_rxm.",
      .source = "libfabric src/fabric.c; fi_provider(7)",
      .compares = true},
     fabric_provider},
    {{.id = "env.efa_device_rdma",
      .title = "FI_EFA_USE_DEVICE_RDMA",
      .reads = kReads,
      .rule = "EFA: WARN if off, or no value that libfabric knows",
      .remedy = "unset FI_EFA_USE_DEVICE_RDMA: without it reads and writes are emulated.",
      .source = "libfabric prov/efa/src/efa_env.h, src/var.c",
      .compares = true},
     efa_rdma},
    {{.id = "env.fork_safe",
      .title = "Fork safety",
      .reads = "environment, proc/sys/kernel/osrelease",
      .rule =
          "kernels before 5.12: WARN if RDMAV_FORK_SAFE, IBV_FORK_SAFE, FI_EFA_FORK_SAFE or RDMAV_HUGEPAGES_SAFE is on",
      .remedy = "unset it: it makes registration slower, and forbids huge pages to some.",
      .source = "rdma-core libibverbs/memory.c; libfabric prov/efa/src/efa_fork_support.c",
      .compares = true},
     fork_safe},
    {{.id = "env.single_threaded",
      .title = "MLX5_SINGLE_THREADED",
      .reads = kReads,
      .rule = "WARN if 1: mlx5 takes no locks",
      .remedy = "unset MLX5_SINGLE_THREADED, but for a program with one thread.",
      .source = "rdma-core providers/mlx5/mlx5.c",
      .compares = true},
     single_threaded},
});

}  // namespace

constinit const std::span<const Check> kEnvChecks = kEnvRows;

}  // namespace rdmabench::inline v1::health

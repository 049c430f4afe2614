// Variables of UCX.
#include <algorithm>
#include <array>
#include <utility>

#include "env.h"

namespace rdmabench::inline v1::health {
namespace {

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

void ucx_devices(Probe& probe) {
  constexpr std::string_view kName = "UCX_NET_DEVICES";
  const auto text = value(probe, kName, "names of devices that are there, and an RDMA device");
  if (!text) return;
  const UcxList list(*text);
  const auto takes = [&](const RdmaPort& port) { return list.takes(port); };
  const std::vector<std::string> interfaces = probe.list("sys/class/net");
  bool left = false;
  for (const RdmaDevice& device : probe.node().devices) {
    left = left || std::any_of(device.ports.begin(), device.ports.end(), takes);
  }
  for (const std::string& name : list.names) {
    bool there = std::find(interfaces.begin(), interfaces.end(), name) != interfaces.end();
    for (const RdmaDevice& device : probe.node().devices) {
      there = there || device.name == name;
      for (const RdmaPort& port : device.ports) there = there || port.name == name;
    }
    if (!there && !list.without) return blame(probe, kName, *text, name + " is not there");
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

constexpr auto kUcxRows = std::to_array<Check>({
    {{.id = "env.ucx_tls",
      .title = "UCX_TLS",
      .reads = kEnvironment,
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
});

}  // namespace

constinit const std::span<const Check> kUcxChecks = kUcxRows;

}  // namespace rdmabench::inline v1::health

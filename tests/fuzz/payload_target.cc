// Every decoder of what a peer writes into a message, and of what a user configures, behind one
// byte that names it.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "base/fields.h"
#include "collective/commands.h"
#include "control/admission.h"
#include "fabric/messages.h"
#include "good_text.h"
#include "netplugin/messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/rendezvous.h"
#include "rdmabench/features.h"
#include "rdmabench/run/config.h"
#include "run/protocol.h"
#include "targets.h"
#if RDMABENCH_HAVE_VERBS
#include "transport/verbs/messages.h"
#endif
#if RDMABENCH_HAVE_OFI
#include "transport/ofi/messages.h"
#endif
#if RDMABENCH_HAVE_UCX
#include "transport/ucx/messages.h"
#endif

namespace rdmabench::inline v1::fuzz {
namespace {

/// Reads `text`. What is taken must hold to `holds`, and read the same once it was written again;
/// what is refused needs a good error text.
Verdict judge(std::string_view text, auto&& read, auto&& write, auto&& holds) {
  std::string once;
  try {
    const auto value = read(text);
    const std::string broken = holds(value);
    if (!broken.empty()) return {broken};
    once = write(value);
  } catch (const Error& error) {
    if (is_good_text(error.what())) return {};
    return {std::string("not a good error text: ") + error.what()};
  }
  try {
    const std::string twice = write(read(once));
    return {twice == once ? "" : "does not read back:\n" + once + "\n" + twice, true};
  } catch (const Error& error) {
    return {"what was taken is refused once it was written again: " + once + ": " + error.what()};
  }
}

/// For a rule that always holds.
std::string nothing_more(const auto& /*value*/) {
  return "";
}

const auto kWrite = [](const auto& message) { return to_text(message); };

/// Of a message that parse() reads with these bounds, as its reader does.
template <class Message, std::size_t most_values = kMaxValues, auto... bounds>
Verdict judge_message(std::string_view text) {
  return judge(
      text, [](std::string_view from) { return parse<Message, most_values>(from, bounds...); },
      kWrite, nothing_more<Message>);
}

std::string request_rule(const run::Request& request) {
  const run::SessionSpec& spec = request.spec;
  const std::uint32_t depth = run::depth_of(spec);
  if (depth == 0 || depth > run::kMaxDepth) return "a depth out of bounds was taken";
  if (spec.max_size == 0 || spec.max_size > run::kMaxSize) return "a size out of bounds was taken";
  const std::uint32_t every = run::signal_every_of(spec);
  if (every == 0 || every > depth) {
    return "an interval of signals beyond the depth was taken";
  }
  for (const bool client : {true, false}) {
    const transport::EndpointRequest endpoint = run::endpoint_request(spec, client);
    if (run::memory_of(endpoint) < spec.max_size) return "an endpoint below one message";
    const bool good = endpoint.depth >= 1 && endpoint.signal_every >= 1 &&
                      endpoint.signal_every <= endpoint.depth && endpoint.options.post_list >= 1 &&
                      endpoint.options.post_list <= endpoint.depth && endpoint.receives >= 1 &&
                      endpoint.send_slots >= 1 && endpoint.receive_slots >= 1;
    if (!good) return "an endpoint that no transport could open";
  }
  return "";
}

Verdict judge_request(std::string_view text) {
  return judge(text, parse<run::Request>, kWrite, request_rule);
}
Verdict judge_epoch(std::string_view text) {
  run::SessionSpec spec;
  spec.max_size = 4096;
  return judge(
      text, [&](std::string_view from) { return parse<run::EpochOrder>(from, &spec); }, kWrite,
      [&](const run::EpochOrder& order) -> std::string {
        const bool good = order.size >= 1 && order.size <= spec.max_size && order.iterations >= 1 &&
                          order.iterations <= run::kMaxEpoch && order.rate >= 0;
        return good ? "" : "an epoch out of bounds was taken";
      });
}

/// What a user writes, and no peer: a configuration. Nothing writes one, so it is only read.
Verdict judge_config(std::string_view text) {
  try {
    const run::Config config = run::config_from_json(text).config;
    const bool good =
        !config.sizes.empty() &&
        *std::max_element(config.sizes.begin(), config.sizes.end()) <= run::kMaxSize &&
        config.traffic.depth.value_or(1) <= run::kMaxDepth && config.traffic.threads >= 1 &&
        config.traffic.threads <= run::kMaxWorkers && config.timeout.count() > 0;
    return {good ? "" : "a configuration out of bounds was taken", true};
  } catch (const Error& error) {
    if (error.fault() == Fault::usage && is_good_text(error.what())) return {};
    return {std::string("not a good error text: ") + error.what()};
  }
}

#if RDMABENCH_HAVE_VERBS
using rdmabench::verbs::Candidate;
using rdmabench::verbs::Gid;

bool is_mtu(std::uint32_t mtu) {
  return mtu >= 256 && mtu <= 4096 && std::has_single_bit(mtu);
}

/// This side's ports, for the choice of a path to what the peer offers.
std::vector<Candidate> own_candidates() {
  using rdmabench::verbs::GidType;
  using rdmabench::verbs::LinkLayer;
  const auto roce = [](const char* address, GidType type) {
    return Candidate{.device = "rxe0",
                     .link_layer = LinkLayer::ethernet,
                     .mtu = 1024,
                     .gbps = 100,
                     .gid = {1, *rdmabench::verbs::parse_gid(address), type, "eth0", 24}};
  };
  return {roce("10.0.0.1", GidType::roce_v2), roce("fe80::1", GidType::roce_v2),
          roce("fd00::1", GidType::roce_v1),
          Candidate{.device = "mlx5_0",
                    .link_layer = LinkLayer::infiniband,
                    .mtu = 4096,
                    .lid = 7,
                    .gbps = 400,
                    .gid = {0, *rdmabench::verbs::parse_gid("fe80::2"), GidType::ib, "", -1}},
          Candidate{.device = "efa_0",
                    .link_layer = LinkLayer::efa,
                    .mtu = 4096,
                    .lid = 1,
                    .gbps = 100,
                    .gid = {0, *rdmabench::verbs::parse_gid("fe80::5"), GidType::ib, "", -1}}};
}

/// The client chooses a path from what the server offers; what it chose must reach the server.
std::string offer_rule(const std::vector<Candidate>& offered) {
  for (const Candidate& candidate : offered) {
    if (!is_mtu(candidate.mtu)) return "an MTU that is none was taken";
    if (candidate.port == 0 || candidate.gid.index > 255) return "a port or GID out of bounds";
  }
  static const std::vector<Candidate> own = own_candidates();
  const auto route = [](const Gid&) { return std::optional<Gid>(own.front().gid.gid); };
  std::optional<rdmabench::verbs::Path> path;
  try {
    path = choose_path(own, offered, {}, route);
  } catch (const Error& error) {
    return error.fault() == Fault::unavailable ? "" : "no path, for an odd reason";
  }
  const std::string text =
      transport::verbs::write_local_path({.device = path->server->device,
                                          .port = path->server->port,
                                          .mtu = std::min(path->client->mtu, path->server->mtu),
                                          .reason = path->reason});
  try {
    static_cast<void>(transport::verbs::read_local_path(text));
  } catch (const Error& error) {
    return std::string("the peer would refuse our choice: ") + error.what();
  }
  return "";
}

Verdict judge_verbs_offer(std::string_view text) {
  return judge(
      text, [](std::string_view from) { return transport::verbs::read_offer(from, "server"); },
      [](const std::vector<Candidate>& offer) { return transport::verbs::write_offer(offer); },
      offer_rule);
}
Verdict judge_verbs_placement(std::string_view text) {
  using transport::verbs::LocalPath;
  return judge(text, transport::verbs::read_local_path, transport::verbs::write_local_path,
               [](const LocalPath& local) -> std::string {
                 return is_mtu(local.mtu) && local.port != 0 ? "" : "out of bounds";
               });
}
Verdict judge_verbs_address(std::string_view text) {
  using transport::verbs::Address;
  return judge(text, transport::verbs::read_address, transport::verbs::write_address,
               [](const Address& address) -> std::string {
                 if (!is_mtu(address.mtu)) return "an MTU that is none was taken";
                 if (address.queues.empty() || address.queues.size() > address.queue_pairs) {
                   return "another number of queue pairs than queue pairs was taken";
                 }
                 bool wraps = address.window + address.window_bytes < address.window;
                 for (const auto& region : address.more_regions) {
                   wraps = wraps || region.address + region.bytes < region.address;
                 }
                 return wraps ? "memory that wraps was taken" : "";
               });
}
#endif

#if RDMABENCH_HAVE_OFI
Verdict judge_ofi_offer(std::string_view text) {
  return judge(text, transport::ofi::read_offer, transport::ofi::write_offer,
               nothing_more<transport::ofi::Offer>);
}
Verdict judge_ofi_fit(std::string_view text) {
  return judge(text, transport::ofi::read_fit, transport::ofi::write_fit,
               nothing_more<transport::ofi::Fit>);
}
Verdict judge_ofi_address(std::string_view text) {
  using transport::ofi::Address;
  return judge(text, transport::ofi::read_address, transport::ofi::write_address,
               [](const Address& address) -> std::string {
                 for (const std::string& name : address.names) {
                   if (name.empty() || name.size() > transport::ofi::kMaxEndpointName) {
                     return "an endpoint name out of bounds was taken";
                   }
                 }
                 bool wraps = address.window_base + address.window_bytes < address.window_base;
                 for (const auto& region : address.more_regions) {
                   wraps = wraps || region.base + region.bytes < region.base;
                 }
                 return wraps ? "memory that wraps was taken" : "";
               });
}
#endif

#if RDMABENCH_HAVE_UCX
Verdict judge_ucx_offer(std::string_view text) {
  return judge(text, transport::ucx::read_offer, transport::ucx::write_offer,
               nothing_more<transport::ucx::Offer>);
}
Verdict judge_ucx_address(std::string_view text) {
  using transport::ucx::Address;
  return judge(
      text, transport::ucx::read_address, transport::ucx::write_address,
      [](const Address& address) -> std::string {
        if (address.worker.empty() || address.worker.size() > transport::ucx::kMaxWorkerAddress) {
          return "a worker's address out of bounds was taken";
        }
        if (address.queue_pairs == 0 || address.regions.empty()) {
          return "an address without queue pairs or window was taken";
        }
        for (const auto& region : address.regions) {
          if (region.key.empty() || region.key.size() > transport::ucx::kMaxKey) {
            return "a key out of bounds was taken";
          }
          if (region.base + region.bytes < region.base) {
            return "memory that wraps was taken";
          }
        }
        return "";
      });
}
#endif

// What the ranks of a collective send each other.
Verdict judge_rank_epoch(std::string_view text) {
  return judge(
      text, [](std::string_view from) { return collective::parse_epoch(from, 2); }, kWrite,
      nothing_more<collective::Epoch>);
}
Verdict judge_pair(std::string_view text) {
  return judge(
      text, [](std::string_view from) { return parse<collective::PointToPointResult>(from, 0, 8); },
      kWrite,
      [](const collective::PointToPointResult& pair) -> std::string {
        const bool good = pair.to < 8 && pair.bits_per_s >= 0 && pair.bits_per_s <= 1e15;
        return good ? "" : "a pair out of bounds was taken";
      });
}

// What two hosts that check a plugin send each other.
Verdict judge_plugin_task(std::string_view text) {
  return judge(
      text, parse<netplugin::Task>, kWrite, [](const netplugin::Task& task) -> std::string {
        const bool good =
            task.version >= netplugin::kOldestVersion &&
            task.version <= netplugin::kNewestVersion && task.device >= 0 &&
            task.bytes <= netplugin::kMaxBytes && task.iterations <= netplugin::kMaxIterations &&
            task.timeout >= netplugin::kMinTimeout && task.timeout <= netplugin::kMaxTimeout;
        return good ? "" : "a task out of bounds was taken";
      });
}

struct Decoder {
  char tag;
  Verdict (*judge)(std::string_view text);
};

// A new decoder takes a tag of its own: the corpus names the old ones.
constexpr std::array kDecoders {
  Decoder{'r', judge_request}, Decoder{'o', judge_message<std::vector<run::Offer>>},
      Decoder{'s', judge_message<run::Selection>}, Decoder{'i', judge_message<run::Introduction>},
      Decoder{'e', judge_epoch}, Decoder{'p', judge_message<run::EpochReport>},
      Decoder{'f', judge_message<run::Farewell, 2 * kMaxValues>},
      Decoder{'h', judge_message<control::RankHello>}, Decoder{'C', judge_config},
      Decoder{'l', judge_message<fabric::PlanOrder>}, Decoder{'d', judge_message<fabric::Ready>},
      Decoder{'m', judge_message<fabric::MeasureOrder>},
      Decoder{'R', judge_message<fabric::Results>},
      Decoder{'b', judge_message<std::vector<fabric::DeviceBytes>>},
      Decoder{'g', judge_message<collective::RankCommand>},
      Decoder{'y', judge_message<collective::RankState>}, Decoder{'E', judge_rank_epoch},
      Decoder{'k', judge_message<collective::RankReport, collective::kReportValues>},
      Decoder{'v', judge_message<collective::PeerServer>}, Decoder{'w', judge_pair},
      Decoder{'V', judge_message<std::vector<collective::PeerServer>, 4 * kMaxValues, 2U>},
      Decoder{'W', judge_message<std::vector<collective::WireStep>>},
      Decoder{'n', judge_message<netplugin::PluginHello, kMaxValues, std::size_t{8}>},
      Decoder{'t', judge_plugin_task}, Decoder{'u', judge_message<netplugin::TaskResult>},
      Decoder{'D', judge_message<netplugin::Properties>},
      Decoder{'B', judge_message<control::BootstrapAddress>},
      Decoder{'q', judge_message<run::Readiness>}, Decoder{'x', judge_message<run::Extension>},
#if RDMABENCH_HAVE_VERBS
      Decoder{'O', judge_verbs_offer}, Decoder{'P', judge_verbs_placement},
      Decoder{'A', judge_verbs_address},
#endif
#if RDMABENCH_HAVE_OFI
      Decoder{'1', judge_ofi_offer}, Decoder{'2', judge_ofi_fit}, Decoder{'3', judge_ofi_address},
#endif
#if RDMABENCH_HAVE_UCX
      Decoder{'4', judge_ucx_offer}, Decoder{'5', judge_ucx_address},
#endif
};

}  // namespace

Verdict judge_payload(std::string_view bytes) {
  if (bytes.empty()) return {};
  const auto found = std::find_if(kDecoders.begin(), kDecoders.end(), [&](const Decoder& decoder) {
    return decoder.tag == bytes.front();
  });
  return found == kDecoders.end() ? Verdict{.known = false} : found->judge(bytes.substr(1));
}

}  // namespace rdmabench::inline v1::fuzz

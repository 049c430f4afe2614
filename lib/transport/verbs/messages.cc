#include "messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "rdmabench/base/error.h"

namespace rdmabench::transport::verbs {
namespace {

using nlohmann::json;
using rdmabench::verbs::Candidate;
using rdmabench::verbs::Gid;
using rdmabench::verbs::LinkLayer;

constexpr std::size_t kMaxCandidates = 4096;
constexpr std::size_t kMaxName = 63;
constexpr std::size_t kMaxReason = 512;
constexpr std::uint64_t kMaxMbps = 10'000'000;
constexpr std::uint64_t k24Bits = 0xffffff;

[[noreturn]] void refuse(std::string_view problem) {
  throw Error(Fault::failed, problem, "Run the same release of rdmabench on both sides.");
}

Gid get_gid(const json& object, std::string_view key) {
  const std::string text = get_string(object, key, kMaxName);
  const auto gid = rdmabench::verbs::parse_gid(text);
  if (!gid) refuse(fmt::format("'{}' is '{}', not an address", key, printable(text)));
  return *gid;
}

std::uint32_t get_mtu(const json& object) {
  const auto mtu = get_uint<std::uint32_t>(object, "mtu", 256, 4096);
  if ((mtu & (mtu - 1)) != 0) refuse(fmt::format("'mtu' is {}, not an MTU", mtu));
  return mtu;
}

double get_gbps(const json& object) {
  return static_cast<double>(get_uint(object, "mbps", 0, kMaxMbps)) / 1000;
}

/// It may end on a terminal.
std::string get_text(const json& object, std::string_view key, std::size_t limit) {
  std::string text = get_string(object, key, limit);
  const std::string shown = printable(text, limit);
  if (shown != text) refuse(fmt::format("'{}' is '{}', with unprintable characters", key, shown));
  return text;
}

constexpr std::array kLinkLayers{LinkLayer::infiniband, LinkLayer::ethernet,
                                 LinkLayer::unspecified};

std::uint64_t to_mbps(double gbps) {
  return static_cast<std::uint64_t>(std::llround(gbps * 1000));
}

Candidate read_candidate(const json& object) {
  Candidate candidate;
  candidate.device = get_text(object, "device", kMaxName);
  candidate.port = get_uint<std::uint8_t>(object, "port", 1);
  const std::string link = get_string(object, "link", kMaxName);
  for (const LinkLayer layer : kLinkLayers) {
    if (link == name(layer)) candidate.link_layer = layer;
  }
  candidate.mtu = get_mtu(object);
  candidate.lid = get_uint<std::uint16_t>(object, "lid");
  candidate.needs_grh = get_bool(object, "grh");
  candidate.gbps = get_gbps(object);
  candidate.pcie_is_slower = get_bool(object, "pcie");
  candidate.gid.index = get_uint<std::uint8_t>(object, "index");
  candidate.gid.gid = get_gid(object, "gid");
  const auto type = rdmabench::verbs::parse_gid_type(get_string(object, "type", kMaxName));
  if (!type) refuse("'type' is not a type of GID");
  candidate.gid.type = *type;
  candidate.gid.interface = get_text(object, "interface", kMaxName);
  // 255: the length of the prefix is not known.
  const int bits = get_uint<std::uint8_t>(object, "prefix");
  candidate.gid.prefix_length =
      bits <= (rdmabench::verbs::is_ipv4(candidate.gid.gid) ? 32 : 128) ? bits : -1;
  return candidate;
}

}  // namespace

std::string write_offer(std::span<const Candidate> candidates) {
  json list = json::array();
  for (const Candidate& from : candidates) {
    list.push_back({{"device", from.device},
                    {"port", from.port},
                    {"link", name(from.link_layer)},
                    {"mtu", from.mtu},
                    {"lid", from.lid},
                    {"grh", from.needs_grh},
                    {"mbps", to_mbps(from.gbps)},
                    {"pcie", from.pcie_is_slower},
                    {"index", from.gid.index},
                    {"gid", to_text(from.gid.gid)},
                    {"type", name(from.gid.type)},
                    {"interface", from.gid.interface},
                    {"prefix", static_cast<std::uint8_t>(from.gid.prefix_length)}});
  }
  return json{{"candidates", std::move(list)}}.dump();
}

std::vector<Candidate> read_offer(std::string_view text, std::string_view whose) {
  const std::string what = fmt::format("{}'s verbs offer", whose);
  return read_object(text, what, 16 * kMaxCandidates, [](const json& object) {
    std::vector<Candidate> candidates;
    for (const json& entry : get_list(object, "candidates", kMaxCandidates)) {
      candidates.push_back(read_candidate(entry));
    }
    return candidates;
  });
}

std::string write_local_path(const LocalPath& local) {
  return json{{"device", local.device}, {"port", local.port},    {"index", local.gid_index},
              {"global", local.global}, {"mtu", local.mtu},      {"mbps", to_mbps(local.gbps)},
              {"slower", local.slower}, {"reason", local.reason}}
      .dump();
}

LocalPath read_local_path(std::string_view text) {
  return read_object(text, "client's verbs choice", kMaxValues, [](const json& object) {
    return LocalPath{.device = get_text(object, "device", kMaxName),
                     .port = get_uint<std::uint8_t>(object, "port", 1),
                     .gid_index = get_uint<std::uint8_t>(object, "index"),
                     .global = get_bool(object, "global"),
                     .mtu = get_mtu(object),
                     .gbps = get_gbps(object),
                     .slower = get_text(object, "slower", kMaxReason),
                     .reason = get_text(object, "reason", kMaxReason)};
  });
}

std::string write_address(const Address& address) {
  json queues = json::array();
  for (const QueueAddress& queue : address.queues) {
    queues.push_back({{"qpn", queue.qpn},
                      {"psn", queue.psn},
                      {"receiver", queue.receiver},
                      {"key", queue.window_key}});
  }
  return json{{"service", name(address.service)},
              {"queue_pairs", address.queue_pairs},
              {"queues", std::move(queues)},
              {"qkey", address.q_key},
              {"dckey", address.dc_key},
              {"srq", address.shared_receives},
              {"lid", address.lid},
              {"gid", to_text(address.gid)},
              {"mtu", address.mtu},
              {"reads", address.reads_in},
              {"window", address.window},
              {"bytes", address.window_bytes},
              {"stride", address.stride},
              {"listener", address.listener},
              {"manager", to_text(address.manager)},
              {"session", address.session}}
      .dump();
}

Address read_address(std::string_view text) {
  return read_object(text, "peer's verbs address", 5 * kMaxQueuePairs + 32, [](const json& object) {
    constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();
    Address address;
    const std::string service = get_string(object, "service", kMaxName);
    const auto known = std::find(kServiceNames.begin(), kServiceNames.end(), service);
    if (known == kServiceNames.end()) refuse("'service' is not a transport");
    address.service = static_cast<Service>(known - kServiceNames.begin());
    address.queue_pairs = get_uint<std::uint32_t>(object, "queue_pairs", 1, kMaxQueuePairs);
    for (const json& queue : get_list(object, "queues", address.queue_pairs)) {
      address.queues.push_back({.qpn = get_uint<std::uint32_t>(queue, "qpn", 1, k24Bits),
                                .psn = get_uint<std::uint32_t>(queue, "psn", 0, k24Bits),
                                .receiver = get_uint<std::uint32_t>(queue, "receiver", 0, k24Bits),
                                .window_key = get_uint<std::uint32_t>(queue, "key")});
    }
    if (address.queues.empty()) refuse("'queues' is empty");
    address.q_key = get_uint<std::uint32_t>(object, "qkey");
    address.dc_key = get_uint<std::uint64_t>(object, "dckey");
    address.shared_receives = get_uint<std::uint32_t>(object, "srq");
    address.lid = get_uint<std::uint16_t>(object, "lid");
    address.gid = get_gid(object, "gid");
    address.mtu = get_mtu(object);
    address.reads_in = get_uint<std::uint8_t>(object, "reads");
    address.window = get_uint<std::uint64_t>(object, "window", 1);
    address.window_bytes = get_uint(object, "bytes", 1, kMax64 - address.window);
    address.stride = get_uint<std::uint64_t>(object, "stride", 1);
    address.listener = get_uint<std::uint16_t>(object, "listener");
    address.manager = get_gid(object, "manager");
    address.session = get_uint<std::uint64_t>(object, "session");
    return address;
  });
}

}  // namespace rdmabench::transport::verbs

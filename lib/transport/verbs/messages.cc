#include "messages.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/walk.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

using nlohmann::json;  // it sorts the keys of what is sent
using rdmabench::verbs::Candidate;
using rdmabench::verbs::Gid;
using rdmabench::verbs::LinkLayer;

constexpr std::size_t kMaxCandidates = 4096;
constexpr std::size_t kMaxName = 63;
constexpr std::size_t kMaxReason = 512;
constexpr std::uint64_t kMaxMbps = 10'000'000;
constexpr std::uint64_t k24Bits = 0xffffff;
constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void refuse(std::string_view problem) {
  throw Error(Fault::failed, problem, "Run the same release of rdmabench on both sides.");
}

void walk_gid(MessageFields& fields, const char* key, Gid& gid) {
  std::string text = to_text(gid);
  fields.text(key, text, kMaxName);
  const auto read = rdmabench::verbs::parse_gid(text);
  if (!read) refuse(fmt::format("'{}' is '{}', not an address", key, ascii_only(text)));
  gid = *read;
}

void walk_mtu(MessageFields& fields, std::uint32_t& mtu) {
  fields.number("mtu", 256, 4096, mtu);
  if ((mtu & (mtu - 1)) != 0) refuse(fmt::format("'mtu' is {}, not an MTU", mtu));
}

void walk_gbps(MessageFields& fields, double& gbps) {
  auto mbps = static_cast<std::uint64_t>(std::llround(gbps * 1000));
  fields.number("mbps", 0, kMaxMbps, mbps);
  gbps = static_cast<double>(mbps) / 1000;
}

/// It may end on a terminal.
void walk_shown(MessageFields& fields, const char* key, std::string& text, std::size_t limit) {
  fields.text(key, text, limit);
  const std::string shown = ascii_only(text, limit);
  if (shown != text) refuse(fmt::format("'{}' is '{}', with unprintable characters", key, shown));
}

constexpr std::array kLinkLayers{LinkLayer::infiniband, LinkLayer::ethernet, LinkLayer::efa};

void walk_candidate(MessageFields& fields, Candidate& candidate) {
  walk_shown(fields, "device", candidate.device, kMaxName);
  fields.number("port", 1, 255, candidate.port);
  std::string link(name(candidate.link_layer));
  fields.text("link", link, kMaxName);
  for (const LinkLayer layer : kLinkLayers) {
    if (link == name(layer)) candidate.link_layer = layer;
  }
  walk_mtu(fields, candidate.mtu);
  fields.number("lid", 0, 65535, candidate.lid);
  fields.flag("grh", candidate.needs_grh);
  walk_gbps(fields, candidate.gbps);
  walk_shown(fields, "least", candidate.least, kMaxName);
  fields.flag("bond", candidate.bond);
  fields.number("index", 0, 255, candidate.gid.index);
  walk_gid(fields, "gid", candidate.gid.gid);
  std::string type_name(name(candidate.gid.type));
  fields.text("type", type_name, kMaxName);
  const auto type = rdmabench::verbs::parse_gid_type(type_name);
  if (!type) refuse("'type' is not a type of GID");
  candidate.gid.type = *type;
  walk_shown(fields, "interface", candidate.gid.interface, kMaxName);
  // 255: the length of the prefix is not known.
  auto bits = static_cast<std::uint8_t>(candidate.gid.prefix_length);
  fields.number("prefix", bits);
  candidate.gid.prefix_length =
      bits <= (rdmabench::verbs::is_ipv4(candidate.gid.gid) ? 32 : 128) ? bits : -1;
}

}  // namespace

std::string write_offer(std::span<const Candidate> candidates) {
  std::vector<Candidate> list(candidates.begin(), candidates.end());
  MessageFields fields;
  fields.list("candidates", kMaxCandidates, list, walk_candidate);
  return json(fields.to()).dump();
}

std::vector<Candidate> read_offer(std::string_view text, std::string_view whose) {
  const std::string what = fmt::format("{}'s verbs offer", whose);
  return read_object(text, what, 16 * kMaxCandidates, [](const json& object) {
    std::vector<Candidate> candidates;
    MessageFields fields(&object);
    fields.list("candidates", kMaxCandidates, candidates, walk_candidate);
    return candidates;
  });
}

void walk(MessageFields& fields, LocalPath& local) {
  walk_shown(fields, "device", local.device, kMaxName);
  fields.number("port", 1, 255, local.port);
  fields.number("index", local.gid_index);
  fields.flag("global", local.global);
  walk_mtu(fields, local.mtu);
  walk_gbps(fields, local.gbps);
  walk_shown(fields, "slower", local.slower, kMaxReason);
  fields.flag("bond", local.bond);
  walk_shown(fields, "reason", local.reason, kMaxReason);
}

std::string write_local_path(const LocalPath& local) {
  return json(write_fields(local)).dump();
}

LocalPath read_local_path(std::string_view text) {
  return read_object(text, "client's verbs choice", kMaxValues, read_fields<LocalPath>);
}

void walk(MessageFields& fields, QueueAddress& queue) {
  fields.number("qpn", 1, k24Bits, queue.qpn);
  fields.number("psn", 0, k24Bits, queue.psn);
  fields.number("receiver", 0, k24Bits, queue.receiver);
  fields.number("key", queue.window_key);
}

void walk(MessageFields& fields, RegionEntry& region) {
  fields.number("address", 1, kMax64, region.address);
  fields.number("bytes", 1, kMax64 - region.address, region.bytes);
  fields.number("key", region.key);
}

void walk(MessageFields& fields, Address& address) {
  fields.name("service", kServiceNames, address.service);
  fields.number("queue_pairs", 1, kMaxQueuePairs, address.queue_pairs);
  fields.list("queues", address.queue_pairs, address.queues);
  if (address.queues.empty()) refuse("'queues' is empty");
  fields.number("qkey", address.q_key);
  fields.number("dckey", address.dc_key);
  fields.number("srq", address.shared_receives);
  fields.number("lid", address.lid);
  walk_gid(fields, "gid", address.gid);
  walk_mtu(fields, address.mtu);
  fields.number("reads", address.reads_in);
  fields.number("window", 1, kMax64, address.window);
  fields.number("bytes", 1, kMax64 - address.window, address.window_bytes);
  fields.number("stride", 1, kMax64, address.stride);
  fields.number("listener", address.listener);
  walk_gid(fields, "manager", address.manager);
  fields.number("session", address.session);
  // Who has none says nothing.
  const bool writes = fields.from() == nullptr;
  if (writes ? !address.more_regions.empty() : !fields.lacks("regions")) {
    fields.list("regions", kMaxRegions - 1, address.more_regions);
  }
}

std::string write_address(const Address& address) {
  return json(write_fields(address)).dump();
}

Address read_address(std::string_view text) {
  return read_object(text, "peer's verbs address", 5 * kMaxQueuePairs + 4 * kMaxRegions + 32,
                     read_fields<Address>);
}

}  // namespace rdmabench::inline v1::transport::verbs

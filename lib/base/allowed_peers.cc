#include "base/allowed_peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/number.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

constexpr std::string_view kLids = "lid:";
constexpr std::string_view kAny = "any";
/// Of libfabric 1.17 to 2.6, without those that only layer on others.
constexpr std::array<std::string_view, 20> kProviders{
    "bgq",  "cxi", "efa", "gni",     "lnx", "lpp", "net", "opx",   "psm",   "psm2",
    "psm3", "shm", "sm2", "sockets", "tcp", "ucx", "udp", "usnic", "verbs", kAny};

std::optional<std::pair<std::uint16_t, std::uint16_t>> parse_lids(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number<std::uint16_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : parse_number<std::uint16_t>(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace

AllowedNetworks parse_allowed(std::span<const std::string> allow,
                              std::span<const std::string> providers) {
  AllowedNetworks allowed;
  for (const std::string& text : allow) {
    if (text == kAny) {
      allowed.networks.push_back({{}, 0});
      allowed.lids.emplace_back(0, 0xffff);
      continue;
    }
    if (text.starts_with(kLids)) {
      if (const auto lids = parse_lids(std::string_view(text).substr(kLids.size()))) {
        allowed.lids.push_back(*lids);
        continue;
      }
    } else if (const auto network = parse_network(text)) {
      allowed.networks.push_back(*network);
      continue;
    }
    throw Error(
        Fault::usage, fmt::format("invalid `allow` '{}'", text),
        "Give a network (10.0.0.0/8), a prefix of GIDs (fe80::/64), LIDs (lid:1-100) or any.");
  }
  for (const std::string& provider : providers) {
    const std::string_view core = std::string_view(provider).substr(0, provider.find(';'));
    if (std::find(kProviders.begin(), kProviders.end(), core) == kProviders.end()) {
      throw Error(Fault::usage, fmt::format("invalid `allow_providers` '{}'", provider),
                  fmt::format("It may be one of {}.", fmt::join(kProviders, ", ")));
    }
  }
  allowed.providers.assign(providers.begin(), providers.end());
  return allowed;
}

AllowedPeers::AllowedPeers(std::string peer_ip, const std::string& local_ip,
                           AllowedNetworks allowed)
    : peer_ip_(std::move(peer_ip)), allowed_(std::move(allowed)) {
  const std::optional<IpAddress> peer = parse_ip(peer_ip_);
  here_ = peer_ip_ == local_ip || (peer && is_of_this_host(*peer));
}

bool AllowedPeers::is_allowed(const IpAddress& address) const noexcept {
  return std::any_of(allowed_.networks.begin(), allowed_.networks.end(),
                     [&](const IpNetwork& network) { return network.has(address); });
}

void AllowedPeers::check_ip(const IpAddress& address) const {
  const std::optional<IpAddress> peer = parse_ip(peer_ip_);
  if (peer == address || is_allowed(address) || (here_ && is_of_this_host(address))) return;
  throw Error(Fault::failed,
              fmt::format("the client at {} names {} as the address to send to", peer_ip_,
                          to_text(address)),
              fmt::format("Start the server with '--allow {}' or with a network that has it.",
                          to_text(address)));
}

void AllowedPeers::check_gid(const IpAddress& gid, std::uint16_t lid, const IpAddress& local,
                             bool own) const {
  const bool by_lid =
      lid != 0 && std::any_of(allowed_.lids.begin(), allowed_.lids.end(), [lid](const auto& range) {
        return range.first <= lid && lid <= range.second;
      });
  const bool by_default = allowed_.networks.empty() && allowed_.lids.empty();
  // InfiniBand routes by the LID: the GID beside it proves nothing where the operator names LIDs.
  const bool by_gid = is_allowed(gid) && (lid == 0 || allowed_.lids.empty());
  if (by_lid || by_gid) return;
  if (by_default && network_beside(local).has(gid)) return;
  if (here_ && own && lid == 0) return;
  if (lid == 0 && !is_link_local(gid)) return check_ip(gid);
  throw Error(
      Fault::failed,
      fmt::format(
          "the client at {} asks the server to send to GID {}{}, which does not identify a host",
          peer_ip_, to_text(gid), lid != 0 ? fmt::format(" and LID {}", lid) : ""),
      "Start the server with '--allow PREFIX' of the GIDs of this fabric, as fe80::/64, or with "
      "'--allow lid:FIRST-LAST'.");
}

bool AllowedPeers::names_provider(std::string_view provider) const noexcept {
  const std::string_view core = provider.substr(0, provider.find(';'));
  return std::any_of(
      allowed_.providers.begin(), allowed_.providers.end(),
      [&](const std::string& name) { return name == provider || name == core || name == kAny; });
}

void AllowedPeers::check_provider(std::string_view provider, std::string_view why) const {
  if (!here_) check_named(provider, why);
}

void AllowedPeers::check_named(std::string_view provider, std::string_view why) const {
  if (names_provider(provider)) return;
  throw Error(
      Fault::failed, fmt::format("provider {} for the client at {}: {}", provider, peer_ip_, why),
      fmt::format("Start the server with `allow_providers` {}, which is '--allow-provider {}' of "
                  "'rdmabench serve'.",
                  provider, provider));
}

}  // namespace rdmabench::inline v1

// Which addresses an endpoint may send to. They come in the peer's own message, so that a client
// could otherwise have a server send to whom it likes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/network.h"

namespace rdmabench::inline v1 {

/// What an operator allows besides the peer of the control connection.
struct AllowedNetworks {
  std::vector<IpNetwork> networks;                            ///< of IP addresses and of GIDs
  std::vector<std::pair<std::uint16_t, std::uint16_t>> lids;  ///< first and last
  std::vector<std::string> providers;                         ///< of libfabric
};

/// `allow`: each a network ("10.0.0.0/8", "fe80::/64" for GIDs), LIDs ("lid:1-100") or "any", which
/// is a provider too. Throws Error(usage) for other text.
AllowedNetworks parse_allowed(std::span<const std::string> allow,
                              std::span<const std::string> providers);

/// Thread rule: const functions from any thread.
class AllowedPeers {
 public:
  /// The two ends of the control connection.
  AllowedPeers(std::string peer_ip, const std::string& local_ip, AllowedNetworks allowed);

  /// Whether the peer is a process of this machine.
  bool here() const noexcept { return here_; }

  /// Each throws Error(failed) that names the address and the option which allows it.
  void check_ip(const IpAddress& address) const;
  /// A GID that is an IP address is checked as one. A link-local one tells nothing of the control
  /// connection's peer: it must be allowed by its prefix or by the LID (0 where it has none). Where
  /// the operator names neither networks nor LIDs, the subnet of `local`, the GID of this side, is
  /// allowed. `own`: it is this machine's, which the peer may name where it is here too.
  void check_gid(const IpAddress& gid, std::uint16_t lid, const IpAddress& local, bool own) const;
  /// Whether the operator names this provider of libfabric, its core ("tcp" of "tcp;ofi_rxm") or
  /// any.
  bool names_provider(std::string_view provider) const noexcept;
  /// For what `why` tells: whether the operator names the provider.
  void check_named(std::string_view provider, std::string_view why) const;
  /// The same, or the peer is here: of a provider whose addresses cannot be judged.
  void check_provider(std::string_view provider, std::string_view why) const;

 private:
  bool is_allowed(const IpAddress& address) const noexcept;

  std::string peer_ip_;
  bool here_;
  AllowedNetworks allowed_;
};

}  // namespace rdmabench::inline v1

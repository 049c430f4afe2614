// IP addresses and networks, to compare what a peer says with whom it connected from.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1 {

/// An IPv6 address; an IPv4 address is one in its mapped form, ::ffff:10.0.0.1, as RoCE writes it
/// into a GID.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::uint32_t scope = 0;  ///< of a link-local address: its interface's index; 0 = unknown

  auto operator<=>(const IpAddress&) const = default;
};

/// "10.0.0.1", "::1", "fe80::1%eth0", of an interface of this machine; nothing for other text.
std::optional<IpAddress> parse_ip(std::string_view text);

/// In fe80::/10.
bool is_link_local(const IpAddress& address) noexcept;

/// Whether it is one of IPv4.
bool is_ipv4(const IpAddress& address) noexcept;

/// As parse_ip() reads it, without the scope.
std::string to_text(const IpAddress& address);

/// The address in a sockaddr_in or sockaddr_in6 of that family, which need not be aligned; nothing
/// for another family.
std::optional<IpAddress> address_of(int family, const void* socket);

/// Addresses with the same first bits.
struct IpNetwork {
  IpAddress first{};
  std::uint32_t bits = 128;

  bool has(const IpAddress& address) const noexcept;
};

/// "10.0.0.0/8", "fe80::/64", on every interface, or an address alone; nothing for other text. Bits
/// behind the prefix do not count.
std::optional<IpNetwork> parse_network(std::string_view text);

/// 127.0.0.0/8 or ::1.
bool is_loopback(const IpAddress& address) noexcept;

/// The addresses beside that of one of this machine's interfaces: its network by getifaddrs(3) for
/// IPv4, the first 64 bits for IPv6 and for the GIDs of InfiniBand and EFA.
IpNetwork network_beside(const IpAddress& own);

/// Whether an interface of this machine has the address, or it is a loopback address. Reads
/// getifaddrs(3).
bool is_of_this_host(const IpAddress& address);

/// The addresses of this machine's interfaces, read anew once a second at most: a stranger's
/// connection must not cost as much as a machine may have of them. Thread rule: one thread.
class HostAddresses {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kFresh{1};

  /// As is_of_this_host(), by what was so at most kFresh before `now`.
  bool has(const IpAddress& address, Clock::time_point now = Clock::now());

 private:
  std::vector<IpAddress> addresses_;  ///< sorted
  std::optional<Clock::time_point> read_;
};

/// Whom a connection counts as where something is limited for each host: "this host" for every
/// address of this machine, of which a process here may take any, an IPv4 address, or the /64 of an
/// IPv6 address, which one host may have all of. Reads HostAddresses of its own. Thread rule: any.
std::string host_of(const std::string& peer_ip);

}  // namespace rdmabench::inline v1

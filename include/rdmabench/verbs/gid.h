// The GID table of a port: its addresses.
#pragma once

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1::verbs {

/// 16 bytes in network order. On RoCE it is an IP address: IPv6, or IPv4 mapped into it
/// (::ffff:a.b.c.d).
struct Gid {
  std::array<std::uint8_t, 16> raw{};

  bool operator==(const Gid&) const = default;
};

bool is_ipv4(const Gid& gid) noexcept;
/// fe80::/10 or 169.254.0.0/16.
bool is_link_local(const Gid& gid) noexcept;
/// The first 8 bytes: on InfiniBand, the subnet.
std::uint64_t subnet_prefix(const Gid& gid) noexcept;

/// "10.0.0.1" or "fe80::1".
std::string to_text(const Gid& gid);
/// Reads the output of to_text() and any IPv4 or IPv6 address; ignores "%eth0" at the end. Nothing
/// for another text.
std::optional<Gid> parse_gid(std::string_view text);

/// The address of an IPv4 or IPv6 socket; all zero for another family.
Gid from_socket_address(const sockaddr& address) noexcept;

enum class GidType : std::uint8_t { ib, roce_v1, roce_v2 };

/// "InfiniBand", "RoCE v1", "RoCE v2".
std::string_view name(GidType type) noexcept;
std::optional<GidType> parse_gid_type(std::string_view text) noexcept;

struct GidEntry {
  std::uint32_t index = 0;
  Gid gid{};
  GidType type = GidType::ib;
  std::string interface = {};  ///< its network device; "" if none is visible
  int prefix_length = -1;      ///< bits of the subnet prefix, up to 32 or 128; -1 if unknown
};

/// "RoCE v2 GID 1 10.0.0.1/24 (eth0)".
std::string to_text(const GidEntry& entry);

/// The valid entries of one port, in order of their index. Throws Error(failed).
/// Source: ibv_query_gid_table(3), getifaddrs(3).
std::vector<GidEntry> read_gid_table(ibv_context& context, std::uint8_t port);

}  // namespace rdmabench::inline v1::verbs

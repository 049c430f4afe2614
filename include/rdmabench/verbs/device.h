// RDMA devices, their ports and their addresses: lists, selects and opens them.
#pragma once

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/verbs/handles.h"

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

/// `efa`: of devices whose transport and link layer are unspecified; they are addressed by GID.
enum class LinkLayer : std::uint8_t { unknown, infiniband, ethernet, efa };

/// "unknown", "InfiniBand", "Ethernet", "EFA".
std::string_view name(LinkLayer layer) noexcept;

LinkLayer link_layer(const ibv_device& device, const ibv_port_attr& port) noexcept;

struct PortInfo {
  std::uint8_t number = 1;  ///< from 1
  bool active = false;
  std::string state;  ///< "active", "down", "init", ...
  LinkLayer link_layer = LinkLayer::unknown;
  std::uint32_t active_mtu = 0;  ///< bytes
  std::uint32_t lid = 0;         ///< 0 on Ethernet
  bool needs_grh = false;        ///< a global header is needed even within the subnet
  double gbps = 0;  ///< what the link carries of data, Gb/s, a bond by all its ports; 0 if unknown
  double queue_pair_gbps = 0;  ///< the same for one queue pair: of a bond, it uses one port
  std::string interface;       ///< its network device; "" if none is visible
  std::vector<GidEntry> gids;
};

struct DeviceInfo {
  std::string name;    ///< "mlx5_0"
  std::string driver;  ///< "mlx5", "rxe"; "" if unknown
  std::uint64_t node_guid = 0;
  std::string firmware;
  bool reliable_connected = false;  ///< RC queue pairs without a connection manager
  bool dynamic = false;             ///< has DC queue pairs
  bool scalable = false;            ///< has SRD queue pairs
  bool xrc = false;                 ///< IBV_DEVICE_XRC
  double pcie_gbps = 0;  ///< what the narrowest PCIe link to memory carries, Gb/s; 0 if unknown
  std::vector<PortInfo> ports;
  std::string fault;  ///< why it could not be opened; then there are no ports
};

/// All devices in the order of libibverbs; none if the kernel has no RDMA support. A device that
/// cannot be opened is listed with its fault. Throws Error(failed) if the list cannot be read.
/// Source: ibv_get_device_list(3), ibv_query_device(3), ibv_query_port(3).
std::vector<DeviceInfo> list_devices();

/// A port in a list of devices, which must outlive it.
struct PortRef {
  const DeviceInfo* device;
  const PortInfo* port;
};

/// The ports that "NAME" or "NAME:PORT" selects; "" selects all. Throws Error(usage) for a
/// malformed text and Error(unavailable) for an unknown device or port. Both list the available
/// ports.
std::vector<PortRef> select_ports(std::span<const DeviceInfo> devices, std::string_view text);

/// Throws Error(unavailable).
Context open_device(std::string_view name);

/// The name of the kernel driver: "mlx5", "rxe"; "" if unknown.
/// Source: /sys/class/infiniband/NAME/device/driver; Soft-RoCE has `parent` instead.
std::string driver_name(const ibv_device& device);

/// Throws Error(failed).
ibv_device_attr query_device(ibv_context& context);
/// ibv_device_attr_ex::device_cap_flags_ex: what newer devices have. Throws Error(failed). Source:
/// ibv_query_device_ex(3).
std::uint64_t query_capabilities(ibv_context& context);
ibv_port_attr query_port(ibv_context& context, std::uint8_t port);
Gid query_gid(ibv_context& context, std::uint8_t port, std::uint32_t index);

/// `mtu` in bytes; 0 for an invalid value.
constexpr std::uint32_t mtu_bytes(ibv_mtu mtu) noexcept {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0;
}

}  // namespace rdmabench::inline v1::verbs

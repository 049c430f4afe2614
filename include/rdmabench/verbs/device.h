// RDMA devices and their ports: what this machine has, and opening one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/verbs/gid.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::verbs {

/// `unspecified` is what EFA devices say: neither of the others, and reached by GID.
enum class LinkLayer : std::uint8_t { unknown, infiniband, ethernet, unspecified };

/// "unknown", "InfiniBand", "Ethernet", "unspecified".
std::string_view name(LinkLayer layer) noexcept;

struct PortInfo {
  std::uint8_t number = 1;  ///< from 1
  bool active = false;
  std::string state;  ///< "active", "down", "init", ...
  LinkLayer link_layer = LinkLayer::unknown;
  std::uint32_t active_mtu = 0;  ///< bytes
  std::uint32_t lid = 0;         ///< 0 on Ethernet
  bool needs_grh = false;        ///< packets must carry the global header even within the subnet
  double gbps = 0;               ///< link rate, Gb/s; 0 if not told
  std::string interface;         ///< the network device on it; "" if none is visible here
  std::vector<GidEntry> gids;
};

struct DeviceInfo {
  std::string name;    ///< "mlx5_0"
  std::string driver;  ///< "mlx5", "rxe"; "" if not told
  std::uint64_t node_guid = 0;
  std::string firmware;
  bool reliable_connected = false;  ///< takes RC queue pairs without a connection manager
  bool dynamic = false;             ///< has DC queue pairs: see dynamic.h
  bool scalable = false;            ///< has SRD queue pairs: see scalable.h
  bool xrc = false;                 ///< IBV_DEVICE_XRC
  std::vector<PortInfo> ports;
  std::string fault;  ///< why it could not be opened; then there are no ports
};

/// Every device, in libibverbs' order; none where the kernel has no RDMA. A device that cannot be
/// opened is listed with its fault. Throws Error(failed) when the list itself cannot be had.
/// Source: ibv_get_device_list(3), ibv_query_device(3), ibv_query_port(3).
std::vector<DeviceInfo> list_devices();

/// One port of one device of a list, which must outlive it.
struct PortRef {
  const DeviceInfo* device;
  const PortInfo* port;
};

/// The ports that "NAME" or "NAME:PORT" means; all for "". Throws Error(usage) for a malformed text
/// and Error(unavailable) for a device or a port that is not there; both list what is.
std::vector<PortRef> select_ports(std::span<const DeviceInfo> devices, std::string_view text);

/// Throws Error(unavailable).
Context open_device(std::string_view name);

/// The name libibverbs' provider goes by: "mlx5", "rxe"; "" if it cannot be told.
/// Source: /sys/class/infiniband/NAME/device/driver; Soft-RoCE has no such device, but a `parent`.
std::string driver_name(const ibv_device& device);

/// Throws Error(failed).
ibv_device_attr query_device(ibv_context& context);
ibv_port_attr query_port(ibv_context& context, std::uint8_t port);
Gid query_gid(ibv_context& context, std::uint8_t port, std::uint32_t index);

/// The MTU that `mtu` names, in bytes; 0 for a value that names none.
constexpr std::uint32_t mtu_bytes(ibv_mtu mtu) noexcept {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0;
}

}  // namespace rdmabench::verbs

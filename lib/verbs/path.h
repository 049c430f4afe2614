// Chooses device, port and GID on both sides of a connection.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "rdmabench/verbs/device.h"

namespace rdmabench::inline v1::verbs {

/// A GID's IP address and a port, as the calls of sockets and of librdmacm take them.
struct SocketAddress {
  SocketAddress(const Gid& gid, std::uint16_t port) {
    if (is_ipv4(gid)) {
      storage.ss_family = AF_INET;
      auto& to = reinterpret_cast<sockaddr_in&>(storage);
      to.sin_port = htons(port);
      std::memcpy(&to.sin_addr, gid.raw.data() + 12, 4);
    } else {
      storage.ss_family = AF_INET6;
      auto& to = reinterpret_cast<sockaddr_in6&>(storage);
      to.sin6_port = htons(port);
      std::memcpy(&to.sin6_addr, gid.raw.data(), gid.raw.size());
    }
  }
  sockaddr& any() { return reinterpret_cast<sockaddr&>(storage); }

  sockaddr_storage storage{};
};

/// An address of one side: an entry of the GID table of an active port.
struct Candidate {
  std::string device;
  std::uint8_t port = 1;
  LinkLayer link_layer = LinkLayer::unknown;
  std::uint32_t mtu = 0;  ///< bytes, active
  std::uint32_t lid = 0;
  bool needs_grh = false;
  double gbps = 0;         ///< of what carries least, Gb/s; 0 if unknown
  std::string least = {};  ///< what that is, if not the port: "the PCIe link"
  bool bond = false;       ///< it is some ports of a bond that has others
  GidEntry gid{};
};

/// "mlx5_0:1 RoCE v2 GID 3 10.0.0.1/24 (eth0)".
std::string to_text(const Candidate& candidate);

/// The addresses of the control connection, as GIDs.
struct ControlAddresses {
  std::optional<Gid> client;
  std::optional<Gid> server;
};

/// The source address that the client's kernel uses for a destination; nothing if there is no
/// route.
using RouteSource = std::function<std::optional<Gid>(const Gid& destination)>;

/// Queries the kernel's routing table by connecting a UDP socket. Source: udp(7).
std::optional<Gid> route_source(const Gid& destination);

struct Path {
  const Candidate* client;
  const Candidate* server;
  bool global;         ///< packets have a global header; always on RoCE
  std::string reason;  ///< one line
};

/// The best pair of candidates. A pair is two InfiniBand ports of one subnet (addressed by LID), or
/// two RoCE GIDs of the same type and address family, both or neither link-local. Preferred are, in
/// this order: InfiniBand; not link-local; RoCE v2; on the client's route to the server; same
/// subnet; addresses of the control connection; the faster link; the same device and port on both
/// sides; the first pair.
///
/// InfiniBand's default subnet prefix and link-local addresses are those of every network, so ports
/// that have them may be of separate ones, as rails are. Devices of one name are of one rail:
/// then the name comes before the faster link, and the reason says what is not known and which
/// faster pair was passed over.
///
/// Called by the client. Throws Error(unavailable) that lists the candidates of both sides if there
/// is no pair. Source: RoCE v2 annex A17 of the InfiniBand Architecture Specification.
Path choose_path(std::span<const Candidate> client, std::span<const Candidate> server,
                 const ControlAddresses& control, const RouteSource& route);

}  // namespace rdmabench::inline v1::verbs

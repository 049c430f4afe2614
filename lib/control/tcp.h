// TCP by the system's calls, for the .cc files of this room that make connections: names, addresses
// of both IP families, and sockets that do not block.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "connection.h"

namespace rdmabench::inline v1::control {

/// An address and a port. Source: ip(7), ipv6(7).
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);

  sockaddr* data() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }

  /// As Channel::peer_ip() describes.
  std::string address() const;
  std::uint16_t port() const noexcept;

  bool operator==(const Endpoint& other) const;
};

/// What a host's name and a port stand for, or why that is not known. Source: getaddrinfo(3).
struct LookUp {
  /// `flags` are those of getaddrinfo(3). An address may stand in brackets: "[::1]".
  LookUp(const std::string& host, std::uint16_t port, int flags = 0);

  std::vector<Endpoint> endpoints;
  std::string error;
};

/// Does not block, and does not reach a child process. Negative, with errno, where there is none.
Descriptor make_socket(int family) noexcept;

/// The end of the socket on this machine; of no family where it is not known.
Endpoint local_end(int socket) noexcept;

/// "10.0.0.1:18515", "[::1]:18515".
std::string host_and_port(const std::string& host, std::uint16_t port);

/// Takes over `socket`, just connected to `peer`, which does not block. `host` is what error texts
/// call the peer.
std::unique_ptr<ChannelSocket> adopt(Descriptor socket, const Endpoint& peer,
                                     const std::string& host);

/// Makes it ready for messages, and looks up its own end: before that a connection of a stranger
/// costs no calls.
void set_up(ChannelSocket& connection);

}  // namespace rdmabench::inline v1::control

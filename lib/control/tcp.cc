#include "tcp.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace rdmabench::control {
namespace {

// A host that lost its power sends no FIN. Keepalive notices after 10 + 3 * 5 seconds of silence,
// where the system's default is over two hours.
constexpr int kKeepIdleSeconds = 10;
constexpr int kKeepIntervalSeconds = 5;
constexpr int kKeepProbes = 3;

/// An option that cannot be set costs comfort, not correctness, so a failure is let be.
void set(int socket, int level, int option, int value) {
  static_cast<void>(setsockopt(socket, level, option, &value, sizeof value));
}

void set_local_end(ChannelSocket& connection) {
  asio::ip::tcp::endpoint local;
  auto size = static_cast<socklen_t>(local.capacity());
  connection.local_ip = "unknown";
  if (getsockname(connection.socket, local.data(), &size) != 0) return;
  local.resize(size);
  connection.local_ip = address_text(local.address());
  connection.local_port = local.port();
}

}  // namespace

std::unique_ptr<ChannelSocket> adopt(Descriptor socket, const asio::ip::tcp::endpoint& peer,
                                     const std::string& host) {
  auto connection = std::make_unique<ChannelSocket>(std::move(socket));
  connection->peer = host_and_port(host, peer.port());
  connection->peer_ip = address_text(peer.address());
  connection->peer_port = peer.port();
  return connection;
}

void set_up(ChannelSocket& connection) {
  const int socket = connection.socket;
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleSeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalSeconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepProbes);
  set_local_end(connection);
}

std::string address_text(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return address.to_string();
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

}  // namespace rdmabench::control

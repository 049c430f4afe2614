#include "tcp.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

namespace rdmabench::inline v1::control {
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

}  // namespace

std::string Endpoint::address() const {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(data(), size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return "unknown";
  }
  constexpr std::string_view kMapped = "::ffff:";  // an IPv4 address, to a socket of both families
  const std::string_view address = text.data();
  const bool mapped = address.starts_with(kMapped) && address.find('.') != std::string_view::npos;
  return std::string(address.substr(mapped ? kMapped.size() : 0));
}

std::uint16_t Endpoint::port() const noexcept {
  // Both families have it in the same place.
  sockaddr_in either{};
  std::memcpy(&either, &storage, sizeof either);
  return ntohs(either.sin_port);
}

bool Endpoint::operator==(const Endpoint& other) const {
  return port() == other.port() && address() == other.address();
}

LookUp::LookUp(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_flags = flags | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';  // "[::1]"
  const std::string name = bracketed ? host.substr(1, host.size() - 2) : host;
  const int code = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) {
    error = code == EAI_SYSTEM ? std::generic_category().message(errno) : gai_strerror(code);
    return;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Endpoint& endpoint = endpoints.emplace_back();
    endpoint.size = one->ai_addrlen;
    std::memcpy(&endpoint.storage, one->ai_addr, one->ai_addrlen);
  }
}

Descriptor make_socket(int family) noexcept {
  return Descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

Endpoint local_end(int socket) noexcept {
  Endpoint local;
  if (getsockname(socket, local.data(), &local.size) != 0) return {};
  return local;
}

std::unique_ptr<ChannelSocket> adopt(Descriptor socket, const Endpoint& peer,
                                     const std::string& host) {
  auto connection = std::make_unique<ChannelSocket>(std::move(socket));
  connection->peer = host_and_port(host, peer.port());
  connection->peer_ip = peer.address();
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
  const Endpoint local = local_end(socket);
  connection.local_ip = local.address();
  connection.local_port = local.port();
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  const bool complete = host.find(':') == std::string::npos || host.front() == '[';
  return complete ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

}  // namespace rdmabench::inline v1::control

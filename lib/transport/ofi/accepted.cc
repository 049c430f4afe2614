#include "accepted.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

namespace rdmabench::inline v1::transport::ofi {
namespace {

/// In the order of the network; nothing for an address that is not IP.
std::optional<in_port_t> port_of(std::string_view name) noexcept {
  sockaddr_storage any{};
  std::memcpy(&any, name.data(), std::min(name.size(), sizeof any));
  if (any.ss_family == AF_INET && name.size() >= sizeof(sockaddr_in)) {
    return reinterpret_cast<const sockaddr_in&>(any).sin_port;
  }
  if (any.ss_family == AF_INET6 && name.size() >= sizeof(sockaddr_in6)) {
    return reinterpret_cast<const sockaddr_in6&>(any).sin6_port;
  }
  return std::nullopt;
}

template <typename T>
std::optional<T> option(int socket, int name) noexcept {
  T value{};
  socklen_t size = sizeof value;
  if (getsockopt(socket, SOL_SOCKET, name, &value, &size) != 0) return std::nullopt;
  return value;
}

/// TCP alone, and not what listens.
bool is_connection(int socket, const std::set<in_port_t>& ports) noexcept {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return false;
  const auto port = port_of({reinterpret_cast<const char*>(&own), size});
  return port && ports.contains(*port) && option<int>(socket, SO_TYPE) == SOCK_STREAM &&
         option<int>(socket, SO_ACCEPTCONN) == 0;
}

}  // namespace

Accepted::Accepted() : folder_(opendir("/proc/self/fd")) {}

void Accepted::note(std::span<const std::string> names) {
  std::set<in_port_t> ports;
  for (const std::string& name : names) {
    if (const auto port = port_of(name)) ports.insert(*port);
  }
  if (ports.empty() || folder_ == nullptr) return;
  rewinddir(folder_);
  while (const dirent* const entry = readdir(folder_)) {
    const std::string_view number = entry->d_name;  // or "." and ".."
    int fd = -1;
    std::from_chars(number.data(), number.data() + number.size(), fd);
    if (fd < 0 || !is_connection(fd, ports)) continue;
    if (const auto cookie = option<std::uint64_t>(fd, SO_COOKIE)) noted_.push_back({fd, *cookie});
  }
}

Accepted::~Accepted() {
  if (folder_ != nullptr) closedir(folder_);
  for (const Socket& socket : noted_) {
    if (option<std::uint64_t>(socket.fd, SO_COOKIE) == socket.cookie) close(socket.fd);
  }
}

}  // namespace rdmabench::inline v1::transport::ofi

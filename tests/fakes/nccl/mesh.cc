#include "mesh.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <thread>

namespace fake_nccl {
namespace {

constexpr int kPatience = 50;  // milliseconds between two checks of `stop`

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int listen_somewhere(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(fd, 128) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    if (fd >= 0) ::close(fd);
    return -1;
  }
  port = ntohs(address.sin_port);
  return fd;
}

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

/// The message of a rank to the root, or to another rank when it connects.
struct Hello {
  std::uint32_t rank;
  std::uint32_t ranks;
  std::uint16_t port;
};

bool transfer(int fd, void* data, std::size_t bytes, bool out) {
  auto* at = static_cast<char*>(data);
  while (bytes != 0) {
    const ssize_t moved =
        out ? ::send(fd, at, bytes, MSG_NOSIGNAL) : ::recv(fd, at, bytes, MSG_WAITALL);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    at += moved;
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

/// Collects every rank's port and sends all of them to each rank.
void serve(int listener) {
  std::vector<std::uint16_t> ports;
  std::vector<int> ranks;
  std::size_t come = 0;
  do {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Hello hello{};
    if (fd < 0 || !transfer(fd, &hello, sizeof hello, false)) {
      if (fd >= 0) ::close(fd);
      break;
    }
    if (ports.empty()) {
      ports.resize(hello.ranks);
      ranks.resize(hello.ranks, -1);
    }
    if (hello.rank >= ports.size()) break;
    ports[hello.rank] = hello.port;
    ranks[hello.rank] = fd;
  } while (++come < ports.size());
  if (come == ports.size()) {
    for (const int fd : ranks) transfer(fd, ports.data(), ports.size() * sizeof ports[0], true);
  }
  for (const int fd : ranks) {
    if (fd >= 0) ::close(fd);
  }
  ::close(listener);
}

}  // namespace

Address open_root() {
  std::uint16_t port = 0;
  const int fd = listen_somewhere(port);
  if (fd < 0) return {};
  std::thread(serve, fd).detach();
  return {kMagic, port};
}

Mesh::~Mesh() {
  for (const int fd : sockets_) {
    if (fd >= 0) ::close(fd);
  }
}

bool Mesh::ready(int fd, short events) {
  while (!stop.load()) {
    pollfd one{fd, events, 0};
    const int found = ::poll(&one, 1, kPatience);
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
  return false;
}

bool Mesh::write_all(int fd, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes != 0) {
    if (!ready(fd, POLLOUT)) return false;
    const ssize_t moved = ::send(fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (moved <= 0) return false;
    at += moved;
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

bool Mesh::read_all(int fd, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes != 0) {
    if (!ready(fd, POLLIN)) return false;
    const ssize_t moved = ::recv(fd, at, bytes, MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (moved <= 0) return false;
    at += moved;
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

bool Mesh::connect(const Address& root) {
  Hello self{static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(ranks()), 0};
  const int listener = listen_somewhere(self.port);
  const int fd = root.magic == kMagic ? connect_to(root.port) : -1;
  std::vector<std::uint16_t> ports(sockets_.size());
  bool good = listener >= 0 && fd >= 0 && write_all(fd, &self, sizeof self) &&
              read_all(fd, ports.data(), ports.size() * sizeof ports[0]);
  if (fd >= 0) ::close(fd);
  for (int peer = 0; good && peer < rank_; ++peer) {  // connects to those below ...
    const int to = connect_to(ports[static_cast<std::size_t>(peer)]);
    sockets_[static_cast<std::size_t>(peer)] = to;
    good = to >= 0 && write_all(to, &self, sizeof self);
  }
  for (int left = ranks() - 1 - rank_; good && left > 0; --left) {  // ... accepts those above
    good = ready(listener, POLLIN);
    const int from = good ? ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC) : -1;
    Hello hello{};
    good = from >= 0 && read_all(from, &hello, sizeof hello) && hello.rank < sockets_.size();
    if (good) sockets_[hello.rank] = from;
  }
  for (const int one : sockets_) {
    const int yes = 1;
    if (one >= 0) ::setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  if (listener >= 0) ::close(listener);
  return good;
}

namespace {

struct Header {
  std::uint64_t number;
  std::uint64_t bytes;
};

/// One direction of one connection: a header, then its bytes, piece by piece.
struct Flow {
  int fd = -1;
  bool out = false;
  std::deque<Piece> pieces;
  Header header{};
  std::size_t done = 0;  // of the piece at the front, header included
};

}  // namespace

bool Mesh::exchange(std::uint64_t number, const std::vector<Piece>& sends,
                    const std::vector<Piece>& receives) {
  std::vector<Flow> flows;
  std::deque<Piece> to_self;
  for (const bool out : {true, false}) {
    for (int peer = 0; peer < ranks(); ++peer) {
      Flow flow{sockets_[static_cast<std::size_t>(peer)], out, {}, {}, 0};
      for (const Piece& piece : out ? sends : receives) {
        if (piece.peer != peer) continue;
        if (peer != rank_) {
          flow.pieces.push_back(piece);
        } else if (out) {
          to_self.push_back(piece);
        } else {
          if (to_self.empty() || to_self.front().bytes != piece.bytes) return false;
          std::memmove(piece.data, to_self.front().data, piece.bytes);
          to_self.pop_front();
        }
      }
      if (!flow.pieces.empty()) flows.push_back(std::move(flow));
    }
  }
  if (!to_self.empty()) return false;
  while (!flows.empty()) {
    if (stop.load()) return false;
    std::vector<pollfd> waits;
    for (const Flow& flow : flows) {
      waits.push_back({flow.fd, static_cast<short>(flow.out ? POLLOUT : POLLIN), 0});
    }
    if (::poll(waits.data(), waits.size(), kPatience) < 0 && errno != EINTR) return false;
    for (std::size_t i = flows.size(); i-- > 0;) {
      if (waits[i].revents == 0) continue;
      Flow& flow = flows[i];
      const Piece& piece = flow.pieces.front();
      if (flow.out && flow.done == 0) flow.header = {number, piece.bytes};
      const bool in_header = flow.done < sizeof(Header);
      const std::size_t at = in_header ? flow.done : flow.done - sizeof(Header);
      unsigned char* const data =
          (in_header ? reinterpret_cast<unsigned char*>(&flow.header) : piece.data) + at;
      const std::size_t left = (in_header ? sizeof(Header) : piece.bytes) - at;
      if (left != 0) {
        const ssize_t moved = flow.out ? ::send(flow.fd, data, left, MSG_NOSIGNAL | MSG_DONTWAIT)
                                       : ::recv(flow.fd, data, left, MSG_DONTWAIT);
        if (moved < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (moved <= 0) return false;
        flow.done += static_cast<std::size_t>(moved);
      }
      if (flow.done == sizeof(Header) && !flow.out &&
          (flow.header.number != number || flow.header.bytes != piece.bytes)) {
        return false;
      }
      if (flow.done == sizeof(Header) + piece.bytes) {
        flow.done = 0;
        flow.pieces.pop_front();
        if (flow.pieces.empty()) flows.erase(flows.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  return true;
}

}  // namespace fake_nccl

// The two ends that the tests of this room talk through.
#pragma once

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "../complaint.h"
#include "control/connection.h"
#include "control/frame.h"
#include "control/handshake.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::inline v1::control {

/// Messages of a protocol of the tests' own.
enum class TestMessage : std::uint16_t {
  abort = kAbortCode,
  hello = first_code(Protocol::user),
  offer,
  ready,
  epoch,
  result,
  bye,
};
constexpr std::string_view name_of(TestMessage type) noexcept {
  return message_name(
      static_cast<std::uint16_t>(type), first_code(Protocol::user),
      std::array<std::string_view, 6>{"hello", "offer", "ready", "epoch", "result", "bye"});
}

/// The first six bytes of a frame.
inline const std::string kStart{'R', 'D', 'M', 'B', '\0', char{kProtocolVersion}};

/// What "0a0b" stands for.
inline std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// Long enough never to pass in a test that works.
inline Deadline plenty() {
  return Deadline::after(std::chrono::seconds(20));
}

/// For a test in which the deadline is to pass.
inline Deadline brief() {
  return Deadline::after(std::chrono::milliseconds(20));
}

/// What the Error says that `call` must throw.
std::string complaint(auto&& call) {
  return rdmabench::complaint(call).what();
}

/// Whether `condition` comes true; for what another thread or the kernel does in its own time.
bool eventually(auto&& condition) {
  for (const Deadline deadline = plenty(); !deadline.passed(); std::this_thread::yield()) {
    if (condition()) return true;
  }
  return false;
}

/// A client and the server's side of the same connection.
struct Ends {
  Channel client;
  Channel server;
};

/// Connects to `listener`, whose accept() is called meanwhile.
inline Ends meet(Listener& listener, const std::string& host = "127.0.0.1",
                 const Authentication& authentication = {}) {
  auto connecting = std::async(std::launch::async, [&] {
    return Channel::connect(host, listener.port(), plenty(), {}, authentication);
  });
  std::optional<Channel> server = listener.accept(plenty());
  return {connecting.get(), std::move(server).value()};
}

struct Pair {
  explicit Pair(const std::string& address = "127.0.0.1") : Pair(Listener(address, 0), address) {}

  Listener listener;
  Channel client;
  Channel server;

 private:
  Pair(Listener&& of, const std::string& address) : Pair(of, meet(of, address)) {}
  Pair(Listener& of, Ends ends)
      : listener(std::move(of)), client(std::move(ends.client)), server(std::move(ends.server)) {}
};

/// A TCP socket on 127.0.0.1 that keeps to no protocol.
class RawSocket {
 public:
  RawSocket() : fd_(socket(AF_INET, SOCK_STREAM, 0)) { EXPECT_GE(fd_, 0); }
  ~RawSocket() { close(); }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  /// Takes a free port without listening on it: connections to it are refused until listen().
  std::uint16_t bind() const {
    sockaddr_in address = local(0);
    EXPECT_EQ(::bind(fd_, generic(address), sizeof address), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(getsockname(fd_, generic(address), &size), 0);
    return ntohs(address.sin_port);
  }

  void listen(int backlog) const { EXPECT_EQ(::listen(fd_, backlog), 0); }

  void connect(std::uint16_t port) const {
    sockaddr_in address = local(port);
    EXPECT_EQ(::connect(fd_, generic(address), sizeof address), 0);
  }

  /// Returns when the peer's kernel has all of it.
  void write(std::string_view bytes) const {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    EXPECT_TRUE(eventually([this] {
      int unacknowledged = -1;
      return ioctl(fd_, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged == 0;
    }));
  }

  int handle() const { return fd_; }

  std::uint16_t port() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    EXPECT_EQ(getsockname(fd_, generic(address), &size), 0);
    return ntohs(address.sin_port);
  }

  /// So many bytes, fewer where the peer has left.
  std::string read(std::size_t count) const {
    std::string bytes(count, '\0');
    const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), MSG_WAITALL);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  /// Leaves with a reset in place of the usual end.
  void reset() {
    const linger now{1, 0};
    EXPECT_EQ(setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close();
  }

 private:
  static sockaddr_in local(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

  int fd_;
};

/// A whole frame as it goes over the wire, without a code.
inline std::string frame(MessageType type, std::string_view payload = {}) {
  const auto header = encode_header({type, static_cast<std::uint32_t>(payload.size())});
  return std::string(header.data(), header.size()).append(payload);
}

inline std::string greeting(Authentication::Method method) {
  return frame(HandshakeMessage::greeting,
               std::string(1, static_cast<char>(method)) + std::string(kNonce, 'n'));
}

/// A server's channel whose client is a raw socket. Neither proves who it is.
struct RawPair {
  RawPair() : listener("127.0.0.1", 0, Authentication::insecure()) {
    client.connect(listener.port());
    client.write(greeting(Authentication::Method::none));
    server.emplace(listener.accept(plenty()).value());
    EXPECT_EQ(client.read(kHeaderBytes), frame(HandshakeMessage::welcome));
  }

  Listener listener;
  RawSocket client;
  std::optional<Channel> server;
};

}  // namespace rdmabench::inline v1::control

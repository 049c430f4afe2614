#include "frame_target.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "control/handshake.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "targets.h"

namespace rdmabench::inline v1::fuzz {
namespace {

using control::Channel;
using control::Listener;
using control::Message;

constexpr std::size_t kMaxPieces = 16;

/// The client's end of a connection, which keeps to no protocol.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* const to = reinterpret_cast<const sockaddr*>(&address);
    int status = connect(socket_, to, sizeof address);
    // libFuzzer's clock is a signal. The connection goes on being made: asked again, it is there.
    while (status != 0 && (errno == EINTR || errno == EALREADY)) {
      status = connect(socket_, to, sizeof address);
    }
    if (status != 0 && errno != EISCONN) {
      throw std::system_error(errno, std::generic_category(), "connect to our own listener");
    }
  }
  /// Leaves with a reset: thousands of connections in TIME_WAIT would use up the ports.
  ~RawClient() {
    const linger now{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(socket_);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void write(std::string_view bytes) const {
    static_cast<void>(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  void finish() const { shutdown(socket_, SHUT_WR); }

  /// Whether the server has closed the connection.
  bool is_left() const {
    std::array<char, 256> said{};
    ssize_t got = 0;
    while ((got = recv(socket_, said.data(), said.size(), MSG_DONTWAIT)) > 0) {
    }
    return got == 0 || (errno != EAGAIN && errno != EINTR);
  }

 private:
  int socket_;
};

std::string greeting(control::Authentication::Method method) {
  const std::string payload = std::string(1, static_cast<char>(method)) + std::string(32, 'n');
  const auto header = control::encode_header(
      {control::HandshakeMessage::greeting, static_cast<std::uint32_t>(payload.size())});
  return std::string(header.data(), header.size()) + payload;
}

/// The messages that a reader must find in `bytes`, up to the first one that is broken or cut off.
std::vector<Message> whole_messages(std::string_view bytes) {
  std::vector<Message> messages;
  for (;;) {
    const control::DecodedHeader decoded = control::decode_header(bytes);
    const std::size_t total = control::kHeaderBytes + decoded.header.length;
    if (decoded.fault != control::HeaderFault::none || bytes.size() < total) return messages;
    messages.push_back({decoded.header.type,
                        std::string(bytes.substr(control::kHeaderBytes, decoded.header.length))});
    bytes.remove_prefix(total);
  }
}

/// Takes messages until none is left within `wait`. Returns whether more may come.
bool take(Channel& channel, std::chrono::milliseconds wait, std::vector<Message>& messages,
          std::string& error) {
  for (;;) {
    try {
      static_cast<void>(channel.interrupted());
      messages.push_back(channel.receive(Deadline::after(wait), "answer"));
    } catch (const Error& failure) {
      error = failure.what();
      return error.starts_with("no answer");  // only late
    }
  }
}

Verdict judge_channel(std::string_view bytes) {
  static Listener listener("127.0.0.1", 0, control::Authentication::insecure());
  if (bytes.empty()) return {};
  const std::size_t piece = std::max<std::size_t>(
      {static_cast<std::uint8_t>(bytes.front()), bytes.size() / kMaxPieces, 1});
  bytes.remove_prefix(1);
  std::optional<RawClient> client(listener.port());
  client->write(greeting(control::Authentication::Method::none));
  Channel channel = listener.accept(Deadline::after(std::chrono::seconds(5))).value();

  std::vector<Message> got;
  std::string error;
  bool open = true;
  for (std::size_t at = 0; at < bytes.size() && open; at += piece) {
    client->write(bytes.substr(at, piece));
    open = take(channel, {}, got, error);
  }
  client->finish();
  const bool waits = open && take(channel, std::chrono::seconds(2), got, error);
  client.reset();  // before the channel, whose close would leave the client's end in TIME_WAIT
  if (waits) return {"a channel waits for a peer that has left"};
  if (!is_good_text(error)) return {"a channel's error text is not good: " + error};
  const std::vector<Message> wanted = whole_messages(bytes);
  const bool same = std::equal(got.begin(), got.end(), wanted.begin(), wanted.end(),
                               [](const Message& a, const Message& b) {
                                 return a.type == b.type && a.payload == b.payload;
                               });
  if (!same) return {"a channel found other messages than were sent"};
  return {"", !got.empty()};
}

/// One that takes MUNGE, though no munged answers it: a proof is read, and its credential refused.
/// Nothing where libmunge is not installed.
std::optional<Listener>& munge_listener() {
  static std::optional<Listener> listener = []() -> std::optional<Listener> {
    setenv("RDMABENCH_MUNGE_SOCKET", "/nonexistent", 1);
    try {
      return Listener("127.0.0.1", 0, control::Authentication::munge());
    } catch (const Error&) {
      return std::nullopt;
    }
  }();
  return listener;
}

/// A stranger whose credential is decoded in a thread of its own.
Verdict judge_munge_stranger(std::string_view bytes) {
  std::optional<Listener>& listener = munge_listener();
  if (!listener) return {.known = false};
  const RawClient client(listener->port());
  client.write(greeting(control::Authentication::Method::munge));
  client.write(bytes);
  client.finish();
  const Deadline late = Deadline::after(std::chrono::seconds(4));
  while (!client.is_left()) {
    if (listener->accept(Deadline::after(std::chrono::milliseconds(1)))) {
      return {"a stranger was let in by MUNGE"};
    }
    if (late.passed()) return {"a stranger with MUNGE is neither refused nor let in"};
  }
  return {"", bytes.starts_with("RDMB")};
}

/// A stranger says anything: nothing of it may let it in, or be thrown at the server. A first byte
/// of 'p' sends a right greeting before it.
Verdict judge_stranger(std::string_view bytes) {
  if (bytes.starts_with('m')) return judge_munge_stranger(bytes.substr(1));
  static const control::Authentication authentication = control::Authentication::of_this_process();
  static Listener listener("127.0.0.1", 0, authentication);
  {
    const RawClient client(listener.port());
    if (bytes.starts_with('p')) client.write(greeting(control::Authentication::Method::token));
    client.write(bytes.substr(std::min<std::size_t>(bytes.size(), 1)));
    client.finish();
    // All has come, so one call reads it to the end of the connection.
    if (listener.accept(Deadline::after({}))) return {"a stranger was let in"};
  }
  return {listener.accept(Deadline::after({})) ? "a stranger was let in late" : "",
          bytes.size() > 1 && bytes.substr(1).starts_with("RDMB")};
}

}  // namespace

Verdict judge_frame(std::string_view bytes) {
  if (bytes.starts_with('s')) return judge_stranger(bytes.substr(1));
  if (bytes.starts_with('c')) return judge_channel(bytes.substr(1));
  return {control::broken_rule(bytes),
          control::decode_header(bytes).fault == control::HeaderFault::none};
}

}  // namespace rdmabench::inline v1::fuzz

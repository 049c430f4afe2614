#include "rdmabench/control/channel.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "connection.h"
#include "frame.h"
#include "wait.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr std::chrono::milliseconds kAbortLimit{200};
constexpr std::size_t kMaxReason = 1000;  // bytes of an abort's payload
constexpr std::string_view kSeePeer = "Look at what it printed.";

bool wait_until(const ChannelSocket& connection, short events, Deadline deadline) {
  pollfd entry{connection.socket, events, 0};
  return wait_for({&entry, 1}, deadline, connection.stop);
}

/// Whether a call is to be made again, later: nothing is wrong.
bool is_transient(int code) noexcept {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

enum class CommonMessage : std::uint16_t { abort = kAbortCode };
constexpr std::string_view name_of(CommonMessage /*type*/) noexcept {
  return "abort";
}

/// What recv(2) would find next.
enum class Next : std::uint8_t { nothing, message, abort, end };

Next peek(int handle) noexcept {
  std::array<char, kHeaderBytes> bytes{};
  const ssize_t got = recv(handle, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got == 0) return Next::end;
  if (got < 0) return is_transient(errno) ? Next::nothing : Next::end;
  const DecodedHeader decoded = decode_header({bytes.data(), static_cast<std::size_t>(got)});
  if (decoded.fault == HeaderFault::incomplete) {
    // The rest of a header follows at once, or never: when the peer has shut down its side.
    pollfd entry{handle, POLLRDHUP, 0};
    return poll(&entry, 1, 0) > 0 ? Next::end : Next::nothing;
  }
  const bool abort = decoded.fault == HeaderFault::none && decoded.header.type.code() == kAbortCode;
  return abort ? Next::abort : Next::message;
}

[[noreturn]] void throw_gave_up(const std::string& peer, std::string_view reason) {
  throw GaveUp(peer, ascii_only(reason, kMaxReason));
}

/// One message to wait for: its deadline, and how to complain about it.
class Arrival {
 public:
  Arrival(ChannelSocket& connection, Deadline deadline, std::string_view what)
      : connection_(connection), deadline_(deadline), given_(deadline.left()), what_(what) {}

  /// The message, once all of it has come; nothing while bytes are missing that are not here yet.
  std::optional<Message> take() {
    ChannelSocket& c = connection_;
    if (c.distrusted) throw_distrusted();
    if (!c.header && !take_header()) return std::nullopt;
    if (!take_part(c.header->length)) return std::nullopt;
    Message message{c.header->type, std::exchange(c.part, {})};
    message.payload.resize(c.header->length);
    c.header.reset();
    return message;
  }

  /// For take() to have more to look at.
  void wait() const {
    if (!wait_until(connection_, POLLIN, deadline_)) throw_late();
  }

 private:
  /// False when bytes of it are missing. What has a code is believed only after that; what has none
  /// is foreign from the fourth byte on.
  bool take_header() {
    ChannelSocket& c = connection_;
    DecodedHeader decoded{HeaderFault::incomplete, 0};
    if (c.seals) {
      if (!take_part(kHeaderBytes)) return false;
      decoded = decode_header({c.part.data(), kHeaderBytes}, c.max_payload);
    } else {
      decoded = decode_header(c.arrived(), c.max_payload);
      while (decoded.fault == HeaderFault::incomplete) {
        if (!read_towards(kHeaderBytes)) return false;
        decoded = decode_header(c.arrived(), c.max_payload);
      }
    }
    if (decoded.fault != HeaderFault::none) throw header_error(decoded, c.peer, c.max_payload);
    c.have = 0;
    c.header = decoded.header;
    return true;
  }

  /// So many bytes and their code, where there are codes. False when some are missing.
  bool take_part(std::size_t length) {
    ChannelSocket& c = connection_;
    const std::size_t total = length + (c.seals ? kCodeBytes : 0);
    while (c.have < total) {
      if (!read_towards(total)) return false;
    }
    if (c.seals) check_code(c.arrived().substr(0, length), c.arrived().substr(length));
    c.have = 0;
    return true;
  }

  /// Takes at least one byte, so that at most `wanted` bytes of the part are there. False when
  /// there is none yet.
  bool read_towards(std::size_t wanted) {
    ChannelSocket& c = connection_;
    wanted_ = wanted;
    c.part.resize(wanted);
    const ssize_t got = recv(c.socket, c.part.data() + c.have, wanted - c.have, 0);
    if (got == 0) throw_closed();
    if (got < 0 && !is_transient(errno)) throw_lost(errno);
    if (got > 0) c.have += static_cast<std::size_t>(got);
    return got > 0;
  }

  /// After a part that the peer did not send, or not now, nothing of the connection is believed.
  void check_code(std::string_view part, std::string_view code) {
    const Code due = connection_.seals->receiving.next(part);
    if (same_bytes({due.data(), due.size()}, code)) return;
    connection_.distrusted = true;
    throw_distrusted();
  }

  [[noreturn]] void throw_distrusted() const {
    throw Error(Fault::failed,
                fmt::format("a message from {} has a wrong authentication code; due was {}",
                            connection_.peer, what_),
                "Somebody between the two hosts adds, changes or repeats messages.");
  }

  [[noreturn]] void throw_closed() const {
    throw Error(Fault::failed,
                fmt::format("the peer {} closed the connection while waiting for {}{}",
                            connection_.peer, what_, part()),
                kSeePeer);
  }

  [[noreturn]] void throw_lost(int code) const {
    throw Error(
        Fault::failed,
        fmt::format("lost the peer {} while waiting for {}{}", connection_.peer, what_, part()),
        kSeePeer, code);
  }

  [[noreturn]] void throw_late() const {
    throw Error(Fault::failed, fmt::format("no {} from the peer {} within {}{}", what_,
                                           connection_.peer, duration_text(given_), part()));
  }

  std::string part() const {
    const std::size_t have = connection_.have;
    if (have == 0 && !connection_.header) return "";
    return fmt::format(" ({} of {} bytes of its {} came)", have, wanted_,
                       connection_.header ? "payload" : "header");
  }

  ChannelSocket& connection_;
  Deadline deadline_;
  std::chrono::nanoseconds given_;
  std::string_view what_;
  std::size_t wanted_ = 0;  // bytes of the part that were last waited for
};

}  // namespace

Channel::Channel(std::unique_ptr<ChannelSocket> connection) noexcept
    : connection_(std::move(connection)) {}
Channel::~Channel() = default;
Channel::Channel(Channel&& other) noexcept = default;
Channel& Channel::operator=(Channel&& other) noexcept = default;

int Channel::handle() const noexcept {
  return connection_->socket;
}
const std::string& Channel::local_ip() const noexcept {
  return connection_->local_ip;
}
const std::string& Channel::peer_ip() const noexcept {
  return connection_->peer_ip;
}
const std::string& Channel::peer() const noexcept {
  return connection_->peer;
}

void Channel::send(MessageType type, std::string_view payload, Deadline deadline) {
  if (payload.size() > kMaxPayload) {
    throw Error(Fault::usage,
                fmt::format("a '{}' message of {} bytes", type.name(), payload.size()),
                fmt::format("The limit is {} bytes.", kMaxPayload));
  }
  const auto given = deadline.left();
  const auto header = encode_header({type, static_cast<std::uint32_t>(payload.size())});
  std::string bytes;
  for (const std::string_view part : {std::string_view(header.data(), header.size()), payload}) {
    bytes += part;
    if (!connection_->seals) continue;
    const Code code = connection_->seals->sending.next(part);
    bytes.append(code.data(), code.size());
  }

  const int socket = connection_->socket;
  int code = 0;
  bool late = false;
  for (std::size_t sent = 0; sent < bytes.size() && code == 0 && !late;) {
    const ssize_t taken = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (taken >= 0) {
      sent += static_cast<std::size_t>(taken);
    } else if (is_transient(errno)) {
      late = !wait_until(*connection_, POLLOUT, deadline);
    } else {
      code = errno;
    }
  }
  if (code == 0 && !late) return;

  // Half a frame may be out: what came after it would be read as its payload.
  shutdown(socket, SHUT_WR);
  if (peek(socket) == Next::abort) throw_gave_up(peer(), receive(deadline, "reason").payload);
  if (late) {
    throw Error(Fault::failed, fmt::format("the peer {} did not take the '{}' message within {}",
                                           peer(), type.name(), duration_text(given)));
  }
  throw Error(Fault::failed,
              fmt::format("lost the peer {} while sending '{}'", peer(), type.name()), kSeePeer,
              code);
}

Message Channel::receive(Deadline deadline, std::string_view waiting_for) {
  Arrival arrival(*connection_, deadline, waiting_for);
  for (;;) {
    if (std::optional<Message> message = arrival.take()) return std::move(*message);
    arrival.wait();
  }
}

std::optional<Message> Channel::receive_ready(std::string_view waiting_for) {
  return Arrival(*connection_, Deadline::after({}), waiting_for).take();
}

std::string Channel::receive(MessageType expected, Deadline deadline,
                             std::string_view waiting_for) {
  return expect(receive(deadline, waiting_for), expected);
}

std::string Channel::expect(Message message, MessageType expected) const {
  if (message.type.code() == kAbortCode) throw_gave_up(peer(), message.payload);
  if (message.type != expected) {
    throw Refusal(Fault::failed,
                  fmt::format("the peer {} sent '{}' where '{}' was due", peer(),
                              expected.name_of_code(message.type.code()), expected.name()),
                  "Install the same rdmabench on both sides.");
  }
  return std::move(message.payload);
}

void Channel::abort(std::string_view reason) noexcept {
  try {
    send(CommonMessage::abort, reason.substr(0, kMaxReason), Deadline::after(kAbortLimit));
  } catch (const std::exception&) {
    // The peer may be gone already, which is fine.
  }
}

bool Channel::readable(std::chrono::milliseconds wait) const {
  pollfd entry{.fd = connection_->socket, .events = POLLIN, .revents = 0};
  return wait_for({&entry, 1}, Deadline::after(wait));
}

bool Channel::interrupted() const noexcept {
  const Next next = peek(connection_->socket);
  return next == Next::abort || next == Next::end;
}

}  // namespace rdmabench::inline v1::control

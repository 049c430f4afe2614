// control: how processes talk before, between and after measurements, over TCP.
//
// A channel is one TCP connection that carries messages. Every wait has a deadline. A channel does
// not know what messages mean: each protocol lists its message types beside its messages.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::control {

struct ChannelSocket;  // internal

/// Raise it whenever a field of any message, or their order, changes, in whatever protocol: two
/// programs of different versions refuse each other.
inline constexpr std::uint16_t kProtocolVersion = 15;
inline constexpr std::uint32_t kMaxPayload = 1U << 20;  ///< bytes of one message

/// The protocols that use these messages. The number is the high byte of a message's code, so
/// that no two protocols share a code. User programs number their messages from first_code(user).
enum class Protocol : std::uint8_t {
  common = 0,  ///< abort alone
  admission,   ///< a rank asks rank 0 to be admitted
  session,     ///< client and server of a measurement (run/)
  group,       ///< ranks of a collective
  fabric,      ///< coordinator and agents
  netplugin,   ///< two sides of a check of a network plugin
  user = 0x7f,
};

constexpr std::uint16_t first_code(Protocol protocol) noexcept {
  return static_cast<std::uint16_t>(static_cast<unsigned>(protocol) << 8U);
}

/// The code of `abort` in every protocol: the sender gives up; the payload is its reason, as text.
inline constexpr std::uint16_t kAbortCode = 1;

/// The name of a message in a protocol whose list starts at `first`: "abort", one of `names`, or
/// "unknown".
template <std::size_t N>
constexpr std::string_view message_name(std::uint16_t code, std::uint16_t first,
                                        const std::array<std::string_view, N>& names) noexcept {
  if (code == kAbortCode) return "abort";
  const auto index = static_cast<std::size_t>(code - first);
  return code >= first && index < N ? names[index] : "unknown";
}

/// A protocol's list of message types: an enumeration over std::uint16_t with a function
/// name_of() beside it.
template <class E>
concept MessageList = std::is_enum_v<E> && std::same_as<std::underlying_type_t<E>, std::uint16_t> &&
    requires(E type) {
  { name_of(type) } -> std::same_as<std::string_view>;
};

/// The type of a message of any protocol. Two are equal when their codes are.
class MessageType {
 public:
  template <MessageList E>
  constexpr MessageType(E type) noexcept  // NOLINT(google-explicit-constructor): a protocol's word
      : code_(static_cast<std::uint16_t>(type)),
        name_([](std::uint16_t code) { return name_of(static_cast<E>(code)); }) {}

  /// One that arrived: which protocol it belongs to is only known by its code.
  explicit constexpr MessageType(std::uint16_t code) noexcept : code_(code) {}

  constexpr std::uint16_t code() const noexcept { return code_; }

  /// As a member of a protocol's list, for a switch with a default.
  template <MessageList E>
  constexpr E as() const noexcept {
    return static_cast<E>(code_);
  }

  /// Its name; of one that arrived, "unknown".
  std::string_view name() const noexcept { return name_of_code(code_); }
  /// What `other` is called in this message's protocol.
  std::string_view name_of_code(std::uint16_t other) const noexcept {
    return name_ != nullptr ? name_(other) : "unknown";
  }

  friend constexpr bool operator==(const MessageType& a, const MessageType& b) noexcept {
    return a.code_ == b.code_;
  }

 private:
  std::uint16_t code_;
  std::string_view (*name_)(std::uint16_t code) = nullptr;
};

struct Message {
  MessageType type;
  std::string payload;  ///< 0..kMaxPayload bytes; whatever the peer chose to send
};

class Secret;  // internal

/// How the two ends of a connection prove to one another who they are, before anything else is
/// said; docs/security.md has the rules. By default it is the user's own token file, made at first
/// use: RDMABENCH_TOKEN_FILE, else $XDG_CONFIG_HOME/rdmabench/token, else
/// ~/.config/rdmabench/token.
///
/// Constructing one has no side effects: files are read, and libraries loaded, when a Listener is
/// made or a Channel connects. What is wrong with them is thrown there: Error(usage) for a token
/// file, Error(unavailable) for a library. Thread rule: a value.
class Authentication {
 public:
  enum class Method : std::uint8_t {
    token = 1,  ///< both ends have the same secret
    munge,      ///< both ends are the same user, says MUNGE
    none,       ///< neither end proves anything
  };

  Authentication() = default;

  /// Every byte of `path`, 32 to 4096 of them. Nobody but this user may have access to it. "" is
  /// the default file.
  static Authentication token_file(std::string path);
  /// A credential of munged(8), which only the same user can decode.
  static Authentication munge();
  /// Anyone may connect, and anyone may answer. Both ends have to say so.
  static Authentication insecure();
  /// Throws Error(usage) unless it has 32 to 4096 bytes.
  static Authentication secret(std::string_view bytes);
  /// Of the threads of one process: random; insecure() in a build or on a machine without
  /// libcrypto.
  static Authentication of_this_process();

  Method method() const noexcept { return method_; }
  bool is_insecure() const noexcept { return method_ == Method::none; }
  /// Of the token; "" where none is named, unless loaded() found it.
  const std::string& file() const noexcept { return file_; }

  /// The same, with what it needs read and loaded: a later change of the file has no effect.
  Authentication loaded() const;

  /// A secret of one run, from this one and a label that need not be secret.
  Authentication derived(std::string_view label) const;

  /// The shell command that copies the token of `host` to this one; "" where it is not in a file.
  std::string copy_line(const std::string& host) const;

 private:
  friend class Handshake;
  explicit Authentication(Method method) : method_(method) {}

  Method method_ = Method::token;
  std::string file_;
  std::shared_ptr<const Secret> secret_;
};

/// Every error is an Error(failed) that names the peer. A moved-from channel may only be destroyed
/// or assigned to.
///
/// Unless both ends are insecure, the header and the payload of each message carry a code over
/// their direction, number and bytes. One that somebody else sent, changed, repeated or left out is
/// an error, and ends the connection.
///
/// Thread rule: one thread at a time, but interrupted() may run beside any other call.
class Channel {
 public:
  /// Tries every IPv4 and IPv6 address of `host` in turn, each for its share of the time left. A
  /// host that refuses is tried again until `retry` has passed: its server may still be starting.
  ///
  /// The deadline does not limit the look-up of a name: getaddrinfo(3) cannot be interrupted and
  /// keeps the limits of resolv.conf(5). A numeric address needs no look-up.
  ///
  /// Returns when both ends have proved who they are. A server that has too many connections
  /// waiting for that is tried again until the deadline.
  ///
  /// Throws Error, whose failure() has the peer: no such host, refused, timed out; the peer has
  /// another secret, or another way to authenticate; Error(usage) for an empty host or a token file
  /// that others can read; Cancelled within 100 ms of a request of `stop`.
  static Channel connect(const std::string& host, std::uint16_t port, Deadline deadline,
                         std::chrono::milliseconds retry = {},
                         const Authentication& authentication = {},
                         const std::stop_token& stop = {});

  ~Channel();
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;

  /// Returns when the kernel has taken all of it; the peer may not have read it yet. After a
  /// failure nothing more can be sent. When the peer said why it left, that reason is the error.
  /// Throws Error(usage) for a payload over kMaxPayload, and then nothing was sent.
  void send(MessageType type, std::string_view payload, Deadline deadline);

  /// The next message, an `abort` included. `waiting_for` is a noun for the error texts: "answer".
  /// Nothing is lost when the deadline passes: a later call continues in the middle of the message.
  /// Throws Error when the peer closes, sends nothing in time or does not speak this protocol.
  Message receive(Deadline deadline, std::string_view waiting_for);

  /// The payload of the next message, which must be of this type. An `abort` becomes an Error with
  /// the peer's reason.
  std::string receive(MessageType expected, Deadline deadline, std::string_view waiting_for);

  /// The payload of a message that receive() returned. Throws as the call above for another type.
  std::string expect(Message message, MessageType expected) const;

  /// The next message if all of it has arrived, else nothing: for a server of many channels that
  /// waits in poll(2). Throws as receive() does.
  std::optional<Message> receive_ready(std::string_view waiting_for);

  /// Tells the peer to give up, and why. A protocol may send its outcome behind it. It takes at
  /// most 200 ms and reports no failure.
  void abort(std::string_view reason) noexcept;

  /// Whether bytes or the end of the connection can be read now or within `wait`, for a caller that
  /// has other work to do meanwhile. Throws Error(failed) when ppoll(2) fails.
  bool readable(std::chrono::milliseconds wait) const;

  /// Whether the peer has closed or reset the connection, or its next message is an `abort`: then
  /// receive() gives the reason. False while another message waits, even if the peer has left
  /// since. One system call that does not block: for the slow path of a measuring loop.
  bool interrupted() const noexcept;

  /// The socket, for poll(2) alone; it stays this channel's.
  int handle() const noexcept;

  /// Addresses as text without a port. An IPv4 address reads as IPv4 even on a dual-stack socket; a
  /// link-local one keeps its scope, "fe80::1%eth0".
  const std::string& local_ip() const noexcept;
  const std::string& peer_ip() const noexcept;

  /// "HOST:PORT" or "[IPV6]:PORT", with the host as the caller of connect() wrote it.
  const std::string& peer() const noexcept;

 private:
  friend class Listener;
  friend class Handshake;
  explicit Channel(std::unique_ptr<ChannelSocket> connection) noexcept;

  std::unique_ptr<ChannelSocket> connection_;
};

}  // namespace rdmabench::inline v1::control

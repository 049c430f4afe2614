// One TCP connection that carries messages, where every wait has a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rdmabench/base/deadline.h"
#include "rdmabench/control/frame.h"

namespace rdmabench::control {

struct Connection;  // the socket; of this room alone

struct Message {
  MessageType type;
  std::string payload;  ///< 0..kMaxPayload bytes; whatever the peer chose to send
};

/// Every error is an Error(failed) that names the peer. A moved-from channel may only be destroyed
/// or assigned to.
///
/// Thread rule: one thread at a time, but interrupted() may run beside any other call.
class Channel {
 public:
  /// Tries every IPv4 and IPv6 address of `host` in turn, giving each its share of the time left. A
  /// host that refuses is asked again until `retry` has passed: its server may still be starting.
  ///
  /// Looking up a name is not cut short by the deadline: getaddrinfo(3) cannot be, and keeps the
  /// limits of resolv.conf(5). A numeric address needs no look-up.
  ///
  /// Throws Error: no such host, refused, timed out; Error(usage) for an empty host.
  static Channel connect(const std::string& host, std::uint16_t port, Deadline deadline,
                         std::chrono::milliseconds retry = {});

  ~Channel();
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Returns when the kernel has taken all of it, which is not when the peer has read it. After a
  /// failure nothing more can be sent. When the peer said why it left, that reason is the error.
  /// Throws Error(usage) for a payload over kMaxPayload, and then nothing was sent.
  void send(MessageType type, std::string_view payload, Deadline deadline);

  /// The next message, an `abort` included. `waiting_for` is a noun for the error texts: "answer".
  /// Passing the deadline loses nothing: a later call goes on in the middle of the frame.
  /// Throws Error when the peer closes, says nothing in time or sends what is no frame.
  Message receive(Deadline deadline, std::string_view waiting_for);

  /// The payload of the next message, which must be of this type. An `abort` becomes an Error with
  /// the peer's reason.
  std::string receive(MessageType expected, Deadline deadline, std::string_view waiting_for);

  /// The payload of a message that receive() gave: throws as the call above does for another type.
  std::string expect(Message message, MessageType expected) const;

  /// The next message if all of it is here, and nothing if not: for a server of many channels that
  /// waits in poll(2). Throws as receive() does.
  std::optional<Message> receive_ready(std::string_view waiting_for);

  /// Tells the peer to give up, and why. Takes 200 ms at most and reports nothing: it is the last
  /// word.
  void abort(std::string_view reason) noexcept;

  /// Whether receive() has something to look at, be it bytes or the end, now or within `wait`. For
  /// a caller that has something else to do meanwhile. Throws Error(failed) when ppoll(2) fails.
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
  explicit Channel(std::unique_ptr<Connection> connection) noexcept;

  std::unique_ptr<Connection> connection_;
};

}  // namespace rdmabench::control

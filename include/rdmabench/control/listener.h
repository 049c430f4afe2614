// Where a server takes connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::control {

/// Connections from one address whose other end is not known, or does not speak as rdmabench does.
struct RefusedPeer {
  std::string ip{};           ///< numeric
  std::string peer{};         ///< with the port of the last one
  std::string why{};          ///< "another token"
  bool other_secret = false;  ///< another token, or another user
  std::uint64_t count = 1;    ///< since the last call for this address and reason
};

/// "10.0.0.7:4242: refused: another token" of one, "10.0.0.7: refused: 239 more clients: another
/// token" of several.
std::string to_text(const RefusedPeer& refused);

/// Thread rule: one thread at a time, but stop() may run beside any other call.
class Listener {
 public:
  /// Listens on `address`, a numeric address or a name of this machine; "" is every address, of
  /// IPv6 and IPv4 alike (IPv4 alone where IPv6 is off). Port 0 takes a free one. Throws Error: the
  /// port is in use or not permitted, the address is not of this machine; as Authentication says.
  Listener(const std::string& address, std::uint16_t port,
           const Authentication& authentication = {});
  ~Listener();
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;

  std::uint16_t port() const noexcept;

  /// By what the other ends prove who they are.
  const Authentication& authentication() const noexcept;

  /// For poll(2) alone: readable when accept() has something to do, if only to close a connection
  /// that said nothing in time.
  int handle() const noexcept;
  /// Readable when stop() was called.
  int stop_handle() const noexcept;

  /// The next connection whose other end has proved who it is, or nothing when the deadline passes
  /// or stop() was called. Those that have not yet are served here, side by side: each for 2 s and
  /// 4 KiB, 64 of one address, max_pending() in all.
  ///
  /// Throws Error(failed) when this process or machine has no resources for it (EMFILE, ENFILE,
  /// ENOBUFS, ENOMEM), and std::bad_alloc. The connection stays queued, so that an immediate second
  /// call fails too, or is closed: report it, then pause.
  std::optional<Channel> accept(Deadline deadline);

  /// From now on accept() tells this function whom it refuses: the first of an address for one
  /// reason at once; those that follow are counted, and told after 10 s, then after twice as long
  /// each time, up to an hour, and when the listener is closed. Not of those that say nothing, or
  /// for whom there was no room, and of at most 4096 addresses at once. What it throws is dropped.
  void on_refused(std::function<void(const RefusedPeer& refused)> tell);

  /// How many connections may wait at once to prove who they are: 512, or a quarter of
  /// RLIMIT_NOFILE where that is less.
  static std::size_t max_pending() noexcept;

  /// Makes the accept() in progress and every later one return nothing. It only writes to an
  /// eventfd, so another thread or a signal handler may call it.
  void stop() noexcept;
  bool stopped() const noexcept;

  /// Ends it for good, as stop() does, and closes the port, so that a client is refused at once
  /// instead of waiting for an answer. port() still tells which one it was.
  void close() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rdmabench::inline v1::control

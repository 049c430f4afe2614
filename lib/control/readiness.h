// One thread that waits for many connections.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/event.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::inline v1::control {

/// Channels, listeners and other file descriptors of which any may be next. It does not own them,
/// and lets go of one by itself when that is closed. Source: epoll(7).
///
/// Thread rule: one thread at a time, but wake() may run beside any other call.
class Readiness {
 public:
  /// Throws Error(failed) when this process has no room for two more file descriptors.
  Readiness();

  /// `key` is what wait() returns for it, any but the largest number; several may have the same.
  /// Throws Error(failed).
  void watch(int handle, std::uint64_t key);
  void watch(const Channel& channel, std::uint64_t key) { watch(channel.handle(), key); }
  void watch(const Listener& listener, std::uint64_t key) { watch(listener.handle(), key); }
  /// From now on wait() returns only for the end of its connection.
  void watch_end(const Channel& channel, std::uint64_t key);
  void unwatch(int handle) noexcept;

  /// Readable while wait() would return at once: for poll(2).
  int handle() const noexcept { return epoll_.get(); }

  /// Keys of those that have something to take or to accept, or have ended; at most some hundreds
  /// at a time, and the same ones again for as long as that is so. None when the deadline has
  /// passed or wake() was called. Valid until the next call. Throws Error(failed) when
  /// epoll_wait(2) fails.
  std::span<const std::uint64_t> wait(Deadline deadline);

  /// Ends the wait() in progress, or else the next one.
  void wake() noexcept;

 private:
  Descriptor epoll_;
  Event wake_;
  std::vector<std::uint64_t> keys_;
};

}  // namespace rdmabench::inline v1::control

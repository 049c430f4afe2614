// What a listener waits for, behind one file descriptor.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/event.h"

namespace rdmabench::control {

/// The acceptor, a clock and the strangers. Source: epoll(7), timerfd_create(2), eventfd(2).
class Waits {
 public:
  // Keys from 1 on are the strangers'.
  static constexpr std::uint64_t kAcceptor = 0;
  static constexpr std::uint64_t kClock = ~std::uint64_t{0};
  static constexpr std::uint64_t kDecoded = kClock - 1;  // a credential of a stranger

  /// Throws Error(failed) when this process has no room for three more file descriptors.
  Waits();

  int handle() const noexcept { return epoll_.get(); }
  const Event& stopped() const noexcept { return stop_; }

  /// Throws Error(failed) when there is no memory for it.
  void add(int handle, std::uint64_t key);
  void remove(int handle) noexcept;

  /// The clock wakes the waits then; nothing: not any more.
  void wake_in(std::optional<std::chrono::nanoseconds> wait) noexcept;

  /// How many events are there now.
  std::size_t ready(std::span<epoll_event> events) const noexcept;

 private:
  Descriptor epoll_;
  Descriptor clock_;
  Event stop_;  // set for good once stop() was called
};

}  // namespace rdmabench::control

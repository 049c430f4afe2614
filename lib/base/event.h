// Wakes who waits with poll(2) or epoll(7).
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/descriptor.h"

namespace rdmabench::inline v1 {

/// Readable from set() on, until clear(). Source: eventfd(2). Thread rule: any; set() may run in a
/// signal handler.
class Event {
 public:
  /// Where the process has no room for a file descriptor, get() is -1 and errno says why.
  Event() noexcept : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int get() const noexcept { return descriptor_.get(); }

  void set() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!write(get(), &one, sizeof one));
  }

  void clear() const noexcept {
    std::uint64_t count = 0;
    static_cast<void>(!read(get(), &count, sizeof count));
  }

 private:
  Descriptor descriptor_;
};

}  // namespace rdmabench::inline v1

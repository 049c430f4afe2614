#include "waits.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>

#include "rdmabench/base/error.h"

namespace rdmabench::control {

Waits::Waits()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      clock_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (epoll_.get() < 0 || clock_.get() < 0 || stop_.get() < 0) {
    throw Error(Fault::failed, "epoll_create1(), timerfd_create() or eventfd()",
                "Raise 'ulimit -n' if it is too low.", errno);
  }
  add(clock_.get(), kClock);
}

void Waits::add(int handle, std::uint64_t key) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = key;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, handle, &event) != 0) {
    throw Error(Fault::failed, "epoll_ctl()", "", errno);
  }
}

void Waits::remove(int handle) noexcept {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, handle, nullptr);
}

void Waits::wake_in(std::optional<std::chrono::nanoseconds> wait) noexcept {
  constexpr std::chrono::nanoseconds kAtOnce{1};  // 0 would stop the clock
  const auto in = wait ? std::max(*wait, kAtOnce) : std::chrono::nanoseconds(0);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(in);
  const itimerspec when{{0, 0}, {seconds.count(), (in - seconds).count()}};
  timerfd_settime(clock_.get(), 0, &when, nullptr);
}

std::size_t Waits::ready(std::span<epoll_event> events) const noexcept {
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

}  // namespace rdmabench::control

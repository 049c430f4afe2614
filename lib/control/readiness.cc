#include "control/readiness.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr std::size_t kAtATime = 256;
constexpr std::uint64_t kWakeKey = ~std::uint64_t{0};

[[noreturn]] void throw_failed(const char* call) {
  throw Error(Fault::failed, call, "Raise 'ulimit -n' if it is too low.", errno);
}

}  // namespace

Readiness::Readiness() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_.get() < 0 || wake_.get() < 0) throw_failed("epoll_create1() or eventfd()");
  watch(wake_.get(), kWakeKey);
  keys_.reserve(kAtATime);
}

void Readiness::watch_end(const Channel& channel, std::uint64_t key) {
  epoll_event event{};
  event.events = EPOLLRDHUP;
  event.data.u64 = key;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, channel.handle(), &event) != 0) {
    throw_failed("epoll_ctl()");
  }
}

void Readiness::watch(int handle, std::uint64_t key) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = key;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, handle, &event) != 0) throw_failed("epoll_ctl()");
}

void Readiness::unwatch(int handle) noexcept {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, handle, nullptr);
}

std::span<const std::uint64_t> Readiness::wait(Deadline deadline) {
  keys_.clear();
  std::array<epoll_event, kAtATime> events{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left());
    const auto limit = std::chrono::milliseconds(std::chrono::hours(1));
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(std::min(left, limit).count()));
    if (count < 0 && errno != EINTR) throw_failed("epoll_wait()");
    bool woken = false;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t key = events[static_cast<std::size_t>(i)].data.u64;  // packed: a copy
      if (key != kWakeKey) {
        keys_.push_back(key);
        continue;
      }
      woken = true;
      wake_.clear();
    }
    if (!keys_.empty() || woken || deadline.passed()) return keys_;
  }
}

void Readiness::wake() noexcept {
  wake_.set();
}

}  // namespace rdmabench::inline v1::control

#include "control/readiness.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "rdmabench/base/error.h"

namespace rdmabench::control {
namespace {

constexpr std::size_t kAtATime = 256;
constexpr std::uint64_t kWakeKey = ~std::uint64_t{0};

[[noreturn]] void throw_failed(const char* call) {
  throw Error(Fault::failed, call, "Raise 'ulimit -n' if it is too low.", errno);
}

}  // namespace

Readiness::Readiness()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  try {
    if (epoll_ < 0 || wake_ < 0) throw_failed("epoll_create1() or eventfd()");
    add(wake_, kWakeKey);
  } catch (...) {
    if (epoll_ >= 0) close(epoll_);
    if (wake_ >= 0) close(wake_);
    throw;
  }
}

Readiness::~Readiness() {
  close(epoll_);
  close(wake_);
}

void Readiness::watch(const Channel& channel, std::uint64_t key) {
  add(channel.handle(), key);
}

void Readiness::watch(const Listener& listener, std::uint64_t key) {
  add(listener.handle(), key);
}

void Readiness::forget(const Channel& channel) noexcept {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, channel.handle(), nullptr);
}

void Readiness::add(int handle, std::uint64_t key) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = key;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, handle, &event) != 0) throw_failed("epoll_ctl()");
}

std::span<const std::uint64_t> Readiness::wait(Deadline deadline) {
  keys_.clear();
  std::array<epoll_event, kAtATime> events{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left());
    const auto limit = std::chrono::milliseconds(std::chrono::hours(1));
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
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
      std::uint64_t value = 0;
      static_cast<void>(!read(wake_, &value, sizeof value));
    }
    if (!keys_.empty() || woken || deadline.passed()) return keys_;
  }
}

void Readiness::wake() noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof one));
}

}  // namespace rdmabench::control

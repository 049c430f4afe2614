#include "rdmabench/control/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "base/event.h"
#include "base/network.h"
#include "pending_handshakes.h"
#include "rdmabench/base/error.h"
#include "tcp.h"
#include "wait.h"

namespace rdmabench::control {
namespace {

using asio::ip::tcp;

// Connections that may wait for accept(); the kernel's own limit applies too.
constexpr int kBacklog = 1024;

/// Throws std::system_error.
void open(tcp::acceptor& acceptor, const tcp::endpoint& endpoint, bool both_families) {
  acceptor.open(endpoint.protocol());
  static_cast<void>(fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC));
  acceptor.set_option(tcp::acceptor::reuse_address(true));
  if (both_families) acceptor.set_option(asio::ip::v6_only(false));
  acceptor.bind(endpoint);
  acceptor.listen(kBacklog);
  acceptor.native_non_blocking(true);
}

void open_any(tcp::acceptor& acceptor, std::uint16_t port) {
  try {
    open(acceptor, {tcp::v6(), port}, true);
  } catch (const std::system_error& error) {
    if (error.code() == asio::error::address_in_use || error.code() == asio::error::access_denied) {
      throw;
    }
    std::error_code ignored;
    acceptor.close(ignored);
    open(acceptor, {tcp::v4(), port}, false);
  }
}

[[noreturn]] void throw_not_listening(const std::string& address, std::uint16_t port,
                                      const std::error_code& error) {
  const std::string where =
      address.empty() ? fmt::format("port {}", port) : fmt::format("port {} of {}", port, address);
  const bool resolver = error.category() != asio::error::get_system_category();
  std::string remedy;
  if (error == asio::error::address_in_use) {
    remedy = "Another process listens there. Stop it, or give another `port`.";
  } else if (error == asio::error::access_denied) {
    remedy = "Ports below 1024 are for root; give another `port`.";
  } else if (resolver || error.value() == EADDRNOTAVAIL) {
    remedy = "'ip address' lists the addresses of this machine.";
  }
  throw Error(Fault::failed,
              fmt::format("listen on {}{}", where, resolver ? ": " + error.message() : ""), remedy,
              resolver ? 0 : error.value());
}

}  // namespace

/// What a listener waits for, behind one file descriptor: the acceptor, a clock and the pending
/// handshakes. Source: epoll(7), timerfd_create(2), eventfd(2).
class Waits {
 public:
  // Keys from 1 on are those of PendingHandshakes.
  static constexpr std::uint64_t kAcceptor = 0;
  static constexpr std::uint64_t kClock = ~std::uint64_t{0};
  static constexpr std::uint64_t kDecoded = kClock - 1;  // a credential has been decoded

  /// Throws Error(failed) when this process has no room for three more file descriptors.
  Waits() {
    if (epoll_.get() < 0 || clock_.get() < 0 || stop_.get() < 0) {
      throw Error(Fault::failed, "epoll_create1(), timerfd_create() or eventfd()",
                  "Raise 'ulimit -n' if it is too low.", errno);
    }
    add(clock_.get(), kClock);
  }

  int handle() const noexcept { return epoll_.get(); }
  const Event& stopped() const noexcept { return stop_; }

  /// Throws Error(failed) when there is no memory for it.
  void add(int handle, std::uint64_t key) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = key;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, handle, &event) != 0) {
      throw Error(Fault::failed, "epoll_ctl()", "", errno);
    }
  }
  void remove(int handle) noexcept { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, handle, nullptr); }

  /// The clock wakes the waits then; nothing: not any more.
  void wake_in(std::optional<std::chrono::nanoseconds> wait) noexcept {
    constexpr std::chrono::nanoseconds kAtOnce{1};  // 0 would stop the clock
    const auto in = wait ? std::max(*wait, kAtOnce) : std::chrono::nanoseconds(0);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(in);
    const itimerspec when{{0, 0}, {seconds.count(), (in - seconds).count()}};
    timerfd_settime(clock_.get(), 0, &when, nullptr);
  }

  /// How many events are there now.
  std::size_t ready(std::span<epoll_event> events) const noexcept {
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }

 private:
  Descriptor epoll_{epoll_create1(EPOLL_CLOEXEC)};
  Descriptor clock_{timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  Event stop_;  // set for good once stop() was called
};

struct Listener::Impl {
  explicit Impl(const Authentication& wanted) : authentication(wanted.loaded()) {}

  std::optional<Channel> step();
  bool accept_next();
  void look_at_clock();

  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  Waits waits;
  Authentication authentication;
  PendingHandshakes pending{authentication};
  std::uint16_t port = 0;
};

Listener::Listener(const std::string& address, std::uint16_t port,
                   const Authentication& authentication) try
    : impl_(std::make_unique<Impl>(authentication)) {
  if (address.empty()) {
    open_any(impl_->acceptor, port);
  } else {
    const auto results = tcp::resolver(impl_->context)
                             .resolve(address, std::to_string(port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service);
    open(impl_->acceptor, results.begin()->endpoint(), false);
  }
  impl_->waits.add(impl_->acceptor.native_handle(), Waits::kAcceptor);
  if (const int decoded = impl_->pending.decoded_handle(); decoded >= 0) {
    impl_->waits.add(decoded, Waits::kDecoded);
  }
  impl_->port = impl_->acceptor.local_endpoint().port();
} catch (const std::system_error& error) {
  throw_not_listening(address, port, error.code());
}

Listener::~Listener() = default;
Listener::Listener(Listener&& other) noexcept = default;
Listener& Listener::operator=(Listener&& other) noexcept = default;

std::size_t Listener::max_pending() noexcept {
  constexpr rlim_t kMost = 512;
  constexpr rlim_t kShare = 4;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  return static_cast<std::size_t>(std::clamp<rlim_t>(limit.rlim_cur / kShare, 1, kMost));
}

std::uint16_t Listener::port() const noexcept {
  return impl_->port;
}

int Listener::handle() const noexcept {
  return impl_->waits.handle();
}

int Listener::stop_handle() const noexcept {
  return impl_->waits.stopped().get();
}

/// False when there may be none. Throws Error(failed) when there is no room for one more. What is
/// thrown closes the connection, whose client hears of it so.
bool Listener::Impl::accept_next() {
  tcp::endpoint peer;
  auto size = static_cast<socklen_t>(peer.capacity());
  Descriptor socket(
      accept4(acceptor.native_handle(), peer.data(), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const int handle = socket.get();
  if (handle < 0) {
    const int code = errno;
    // The client may have left between the wait and now.
    if (code == EAGAIN || code == ECONNABORTED || code == EINTR) return false;
    // Unauthenticated connections must not keep those out that could be served.
    if ((code == EMFILE || code == ENFILE) && pending.drop_oldest()) return true;
    throw Error(Fault::failed, fmt::format("accept a connection on port {}", port),
                "Raise 'ulimit -n', or wait until other clients are done.", code);
  }
  peer.resize(size);
  const std::string ip = address_text(peer.address());
  Channel channel(adopt(std::move(socket), peer, ip));
  const auto key = pending.add(std::move(channel), host_of(ip));
  if (!key) return true;
  try {
    waits.add(handle, *key);
  } catch (const std::exception&) {
    pending.drop(*key);
    throw;
  }
  return true;
}

/// Ends waits that are over, and sets the clock to the next.
void Listener::Impl::look_at_clock() {
  waits.wake_in(pending.expire());
}

/// What can be done without waiting: handshakes that have begun come before new connections.
std::optional<Channel> Listener::Impl::step() {
  constexpr std::size_t kAtATime = 64;
  std::array<epoll_event, kAtATime> events{};
  const std::size_t count = waits.ready(events);
  std::optional<Channel> known;
  bool is_new = false;
  for (std::size_t i = 0; i < count && !known; ++i) {
    const std::uint64_t key = events[i].data.u64;  // packed: a copy
    is_new = is_new || key == Waits::kAcceptor;
    known = key == Waits::kDecoded ? pending.proceed_decoded() : pending.proceed(key);
    if (const int quiet = pending.decoding(key); quiet >= 0) waits.remove(quiet);
  }
  if (known) waits.remove(known->handle());
  look_at_clock();  // now: there may be no room for one more
  if (is_new && !known) {
    for (std::size_t i = 0; i < kAtATime && accept_next(); ++i) {
    }
    look_at_clock();
  }
  return known;
}

std::optional<Channel> Listener::accept(Deadline deadline) {
  constexpr int kStepsPastDeadline = 64;  // what is here already is served
  for (int steps = 1;; ++steps) {
    std::array<pollfd, 2> waits{{{stop_handle(), POLLIN, 0}, {handle(), POLLIN, 0}}};
    if (!wait_for(waits, deadline) || waits[0].revents != 0) return std::nullopt;
    if (std::optional<Channel> known = impl_->step()) return known;
    // Unauthenticated connections may keep this busy for ever.
    if (steps >= kStepsPastDeadline && deadline.passed()) return std::nullopt;
  }
}

void Listener::stop() noexcept {
  const int saved = errno;  // a signal handler must leave it as it was
  impl_->waits.stopped().set();
  errno = saved;
}

bool Listener::stopped() const noexcept {
  pollfd entry{stop_handle(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace rdmabench::control

#include "rdmabench/control/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/event.h"
#include "base/network.h"
#include "pending_handshakes.h"
#include "rdmabench/base/error.h"
#include "readiness.h"
#include "tcp.h"
#include "wait.h"

namespace rdmabench::inline v1::control {
namespace {

// Connections that may wait for accept(); the kernel's own limit applies too.
constexpr int kBacklog = 1024;

/// A socket that listens. Negative, with errno, where there is none.
Descriptor listening_at(const Endpoint& endpoint, bool both_families) noexcept {
  Descriptor socket = make_socket(endpoint.storage.ss_family);
  constexpr int kOn = 1;
  constexpr int kOff = 0;
  const auto set = [&](int level, int option, const int& value) {
    return setsockopt(socket.get(), level, option, &value, sizeof value) == 0;
  };
  const bool listens = socket.get() >= 0 && set(SOL_SOCKET, SO_REUSEADDR, kOn) &&
                       (!both_families || set(IPPROTO_IPV6, IPV6_V6ONLY, kOff)) &&
                       bind(socket.get(), endpoint.data(), endpoint.size) == 0 &&
                       listen(socket.get(), kBacklog) == 0;
  return listens ? std::move(socket) : Descriptor();
}

[[noreturn]] void throw_not_listening(const std::string& address, std::uint16_t port, int error,
                                      const std::string& unknown = "") {
  const std::string where =
      address.empty() ? fmt::format("port {}", port) : fmt::format("port {} of {}", port, address);
  std::string remedy;
  if (error == EADDRINUSE) {
    remedy = "Another process listens there. Stop it, or give another `port`.";
  } else if (error == EACCES) {
    remedy = "Ports below 1024 are for root; give another `port`.";
  } else if (!unknown.empty() || error == EADDRNOTAVAIL) {
    remedy = "'ip address' lists the addresses of this machine.";
  }
  throw Error(Fault::failed,
              fmt::format("listen on {}{}{}", where, unknown.empty() ? "" : ": ", unknown), remedy,
              error);
}

/// "" is every address, of both families where the machine has both.
Descriptor listening_on(const std::string& address, std::uint16_t port) {
  const LookUp found(address.empty() ? "::" : address, port, AI_PASSIVE);
  if (found.endpoints.empty()) throw_not_listening(address, port, 0, found.error);
  Descriptor socket = listening_at(found.endpoints.front(), address.empty());
  if (socket.get() < 0 && address.empty() && errno != EADDRINUSE && errno != EACCES) {
    socket = listening_at(LookUp("0.0.0.0", port, AI_PASSIVE).endpoints.front(), false);
  }
  if (socket.get() < 0) throw_not_listening(address, port, errno);
  return socket;
}

}  // namespace

struct Listener::Impl {
  // Keys from 1 on are those of PendingHandshakes.
  static constexpr std::uint64_t kAcceptor = 0;
  static constexpr std::uint64_t kClock = ~std::uint64_t{0} - 1;
  static constexpr std::uint64_t kDecoded = kClock - 1;  // a credential has been decoded

  /// Throws Error(failed) when this process has no room for the file descriptors.
  Impl(const Authentication& wanted, const std::string& address, std::uint16_t wanted_port);

  std::optional<Channel> step();
  bool accept_next();
  void look_at_clock();

  Authentication authentication;
  Descriptor acceptor;
  Readiness readiness;
  Descriptor clock{timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  Event stopped;  ///< set for good once stop() was called
  PendingHandshakes pending{authentication};
  std::uint16_t port;
};

Listener::Impl::Impl(const Authentication& wanted, const std::string& address,
                     std::uint16_t wanted_port)
    : authentication(wanted.loaded()),
      acceptor(listening_on(address, wanted_port)),
      port(local_end(acceptor.get()).port()) {
  if (clock.get() < 0 || stopped.get() < 0) {
    throw Error(Fault::failed, "timerfd_create() or eventfd()",
                "Raise 'ulimit -n' if it is too low.", errno);
  }
  readiness.watch(acceptor.get(), kAcceptor);
  readiness.watch(clock.get(), kClock);
  if (const int decoded = pending.decoded_handle(); decoded >= 0) {
    readiness.watch(decoded, kDecoded);
  }
}

Listener::Listener(const std::string& address, std::uint16_t port,
                   const Authentication& authentication)
    : impl_(std::make_unique<Impl>(authentication, address, port)) {}

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

void Listener::on_refused(std::function<void(const RefusedPeer& refused)> tell) {
  impl_->pending.on_refused(std::move(tell));
}

std::uint16_t Listener::port() const noexcept {
  return impl_->port;
}

const Authentication& Listener::authentication() const noexcept {
  return impl_->authentication;
}

int Listener::handle() const noexcept {
  return impl_->readiness.handle();
}

int Listener::stop_handle() const noexcept {
  return impl_->stopped.get();
}

/// False when there may be none. Throws Error(failed) when there is no room for one more. What is
/// thrown closes the connection, whose client hears of it so.
bool Listener::Impl::accept_next() {
  Endpoint peer;
  Descriptor socket(accept4(acceptor.get(), peer.data(), &peer.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
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
  const std::string ip = peer.address();
  Channel channel(adopt(std::move(socket), peer, ip));
  const auto key = pending.add(std::move(channel), host_of(ip));
  if (!key) return true;
  try {
    readiness.watch(handle, *key);
  } catch (const std::exception&) {
    pending.drop(*key);
    throw;
  }
  return true;
}

/// Ends handshakes that are over, and sets the clock to the next end, if there is one. Source:
/// timerfd_create(2).
void Listener::Impl::look_at_clock() {
  constexpr std::chrono::nanoseconds kAtOnce{1};  // 0 would stop the clock
  const std::optional<std::chrono::nanoseconds> next = pending.expire();
  const auto in = next ? std::max(*next, kAtOnce) : std::chrono::nanoseconds(0);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(in);
  const itimerspec when{{0, 0}, {seconds.count(), (in - seconds).count()}};
  timerfd_settime(clock.get(), 0, &when, nullptr);
}

/// What can be done without waiting: handshakes that have begun come before new connections.
std::optional<Channel> Listener::Impl::step() {
  constexpr std::size_t kAtATime = 64;
  std::optional<Channel> known;
  bool is_new = false;
  for (const std::uint64_t key : readiness.wait(Deadline::after({}))) {
    is_new = is_new || key == kAcceptor;
    known = key == kDecoded ? pending.proceed_decoded() : pending.proceed(key);
    if (const int quiet = pending.decoding(key); quiet >= 0) readiness.unwatch(quiet);
    if (known) break;
  }
  if (known) readiness.unwatch(known->handle());
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
  impl_->stopped.set();
  errno = saved;
}

void Listener::close() noexcept {
  stop();
  while (impl_->pending.drop_oldest()) {
  }
  impl_->pending.tell_rest_of_refusals();
  impl_->acceptor = Descriptor();
}

bool Listener::stopped() const noexcept {
  pollfd entry{stop_handle(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace rdmabench::inline v1::control

#include "rdmabench/control/listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

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
    remedy = "Is another 'rdmabench serve' running? Stop it, or give another `port`.";
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

struct Listener::Impl {
  Impl() : wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wake < 0) {
      throw Error(Fault::failed, "eventfd()", "Raise 'ulimit -n' if it is too low.", errno);
    }
  }
  ~Impl() { close(wake); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  int wake;         // readable for good once stop() was called
  int handle = -1;  // the acceptor's
  std::uint16_t port = 0;
};

Listener::Listener(const std::string& address, std::uint16_t port) try
    : impl_(std::make_unique<Impl>()) {
  if (address.empty()) {
    open_any(impl_->acceptor, port);
  } else {
    const auto results = tcp::resolver(impl_->context)
                             .resolve(address, std::to_string(port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service);
    open(impl_->acceptor, results.begin()->endpoint(), false);
  }
  impl_->handle = impl_->acceptor.native_handle();
  impl_->port = impl_->acceptor.local_endpoint().port();
} catch (const std::system_error& error) {
  throw_not_listening(address, port, error.code());
}

Listener::~Listener() = default;
Listener::Listener(Listener&& other) noexcept = default;
Listener& Listener::operator=(Listener&& other) noexcept = default;

std::uint16_t Listener::port() const noexcept {
  return impl_->port;
}

int Listener::handle() const noexcept {
  return impl_->handle;
}

int Listener::stop_handle() const noexcept {
  return impl_->wake;
}

std::optional<Channel> Listener::accept(Deadline deadline) {
  for (;;) {
    std::array<pollfd, 2> waits{{{impl_->wake, POLLIN, 0}, {impl_->handle, POLLIN, 0}}};
    if (!wait_for(waits, deadline) || waits[0].revents != 0) return std::nullopt;
    tcp::endpoint peer;
    auto size = static_cast<socklen_t>(peer.capacity());
    const int socket = accept4(waits[1].fd, peer.data(), &size, SOCK_CLOEXEC);
    if (socket >= 0) {
      peer.resize(size);
      return Channel(adopt(socket, peer, address_text(peer.address())));
    }
    const int code = errno;
    // The client may have left between the wait and now.
    if (code == EAGAIN || code == ECONNABORTED || code == EINTR) continue;
    throw Error(Fault::failed, fmt::format("accept a connection on port {}", impl_->port),
                "Raise 'ulimit -n', or wait until other clients are done.", code);
  }
}

void Listener::stop() noexcept {
  const int saved = errno;  // a signal handler must leave it as it was
  const std::uint64_t one = 1;
  static_cast<void>(!write(impl_->wake, &one, sizeof one));
  errno = saved;
}

bool Listener::stopped() const noexcept {
  pollfd entry{impl_->wake, POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace rdmabench::control

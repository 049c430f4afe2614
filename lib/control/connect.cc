// Channel::connect(): from a host's name to a connection.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "base/refuse.h"
#include "handshake.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/log.h"
#include "rdmabench/control/channel.h"
#include "tcp.h"
#include "wait.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr std::chrono::milliseconds kRetryPause{20};
constexpr std::chrono::milliseconds kBusyPause{5};
constexpr int kBrokenAttempts = 5;  // connections that break before anyone answered

std::vector<Endpoint> resolve(const std::string& host, std::uint16_t port) {
  refuse_if(host.empty(), "an empty host name", "Name the server's host.");
  LookUp found(host, port);
  if (found.endpoints.empty()) {
    throw Error(Fault::failed, fmt::format("unknown host '{}' ({})", host, found.error),
                "Check the spelling, or give its IP address.");
  }
  return std::move(found.endpoints);
}

[[noreturn]] void throw_unreached(const std::string& host, std::uint16_t port,
                                  const std::vector<Endpoint>& tried, int error,
                                  std::chrono::nanoseconds given) {
  std::string addresses;
  for (const Endpoint& endpoint : tried) {
    const std::string text = endpoint.address();
    if (text != host) addresses += (addresses.empty() ? " (" : ", ") + text;
  }
  if (!addresses.empty()) addresses += ")";
  std::string what = fmt::format("connect to {}{}", host_and_port(host, port), addresses);
  std::string remedy;
  if (error == ECONNREFUSED) {
    remedy = fmt::format(
        "Nothing listens there: start the server on {} ('rdmabench serve'), or check `port`.",
        host);
  } else if (error == ETIMEDOUT) {
    what += fmt::format(" within {}", duration_text(given));
    remedy = fmt::format("Is {} up, and does its firewall let TCP port {} in?", host, port);
  } else if (error == ENETUNREACH || error == EHOSTUNREACH) {
    remedy = fmt::format("Check the route to {}.", host);
  }
  throw Error(Fault::failed, what, remedy, error, {.library = "libc", .call = "connect"});
}

/// Before a server that is busy is tried again: not all clients at once.
std::chrono::nanoseconds busy_pause() {
  const auto random = static_cast<unsigned char>(random_bytes(1)[0]);
  return kBusyPause * (1 + random % 8);
}

/// One call of Channel::connect().
class Dialling {
 public:
  Dialling(const std::string& host, std::uint16_t port, Deadline deadline,
           const Authentication& authentication, const std::stop_token& stop)
      : host_(host),
        port_(port),
        deadline_(deadline),
        given_(deadline.left()),
        authentication_(authentication.loaded()),
        stop_(stop),
        endpoints_(resolve(host, port)) {}

  /// Tries every address, and a host that refuses again until `patience` has passed.
  Channel connect(Deadline patience) {
    for (bool told = false;;) {
      int failure = 0;  // the first, unless some address refused: then the host is up
      for (std::size_t i = 0; i < endpoints_.size(); ++i) {
        for (;;) {
          const auto share = deadline_.left() / static_cast<std::int64_t>(endpoints_.size() - i);
          Descriptor socket = dial(endpoints_[i], Deadline::after(share));
          if (socket.get() < 0) break;
          if (auto channel = attempt(std::move(socket), endpoints_[i])) return std::move(*channel);
          pause(busy_pause());
        }
        if (failure == 0 || error_ == ECONNREFUSED) failure = error_;
      }
      if (busy_ && failure == ETIMEDOUT) std::rethrow_exception(busy_);
      if (failure != ECONNREFUSED || patience.passed() || deadline_.passed()) {
        throw_unreached(host_, port_, endpoints_, failure, given_);
      }
      if (!std::exchange(told, true)) {
        log_line([&] {
          return fmt::format("connection refused: {} is tried again for {}",
                             host_and_port(host_, port_), duration_text(patience.left()));
        });
      }
      pause(std::min<std::chrono::nanoseconds>(kRetryPause, patience.left()));
    }
  }

 private:
  /// A connection within `deadline`. Negative where there is none, and `error_` is why.
  Descriptor dial(const Endpoint& endpoint, Deadline deadline) {
    Descriptor socket = make_socket(endpoint.storage.ss_family);
    error_ = socket.get() < 0 ? errno : 0;
    if (error_ == EMFILE || error_ == ENFILE) {
      throw Error(Fault::failed, fmt::format("connect to {}", host_and_port(host_, port_)),
                  "Raise 'ulimit -n' if it is too low.", error_);
    }
    if (error_ == 0 && ::connect(socket.get(), endpoint.data(), endpoint.size) != 0) error_ = errno;
    if (error_ == EINPROGRESS || error_ == EINTR) {
      pollfd entry{socket.get(), POLLOUT, 0};
      socklen_t size = sizeof error_;
      if (!wait_for({&entry, 1}, deadline, stop_)) {
        error_ = ETIMEDOUT;
      } else if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error_, &size) != 0) {
        error_ = errno;
      }
    }
    // Dialling a free port of the ephemeral range on this host can get that very port as the
    // source, and TCP then joins the socket to itself (RFC 9293, simultaneous open).
    if (error_ == 0 && local_end(socket.get()) == endpoint) error_ = ECONNREFUSED;
    return error_ == 0 ? std::move(socket) : Descriptor();
  }

  /// The connection once both ends are known; nothing where another one may do better.
  std::optional<Channel> attempt(Descriptor socket, const Endpoint& endpoint) {
    std::unique_ptr<ChannelSocket> connection = adopt(std::move(socket), endpoint, host_);
    set_up(*connection);
    try {
      return Handshake::of_client(std::move(connection), authentication_, host_, deadline_, stop_);
    } catch (const ServerBusy&) {
      if (deadline_.passed()) throw;
      busy_ = std::current_exception();
    } catch (const BrokenHandshake&) {
      if (deadline_.passed() || ++broke_ == kBrokenAttempts) throw;
    } catch (const Refusal&) {
      throw;
    } catch (const Error&) {  // no answer to the last try
      if (busy_ && deadline_.passed()) std::rethrow_exception(busy_);
      throw;
    }
    return std::nullopt;
  }

  void pause(std::chrono::nanoseconds wanted) const {
    wait_for({}, Deadline::after(std::min<std::chrono::nanoseconds>(wanted, deadline_.left())),
             stop_);
  }

  const std::string& host_;
  std::uint16_t port_;
  Deadline deadline_;
  std::chrono::nanoseconds given_;
  Authentication authentication_;
  const std::stop_token& stop_;
  std::vector<Endpoint> endpoints_;
  int error_ = 0;            ///< errno of the last address
  int broke_ = 0;            ///< connections that broke
  std::exception_ptr busy_;  ///< the server's answer so far
};

}  // namespace

Channel Channel::connect(const std::string& host, std::uint16_t port, Deadline deadline,
                         std::chrono::milliseconds retry, const Authentication& authentication,
                         const std::stop_token& stop) try {
  return Dialling(host, port, deadline, authentication, stop).connect(Deadline::after(retry));
} catch (Error& error) {
  error.set_peer(host_and_port(host, port));
  if (!stop.stop_requested() || error.fault() != Fault::failed) throw;
  Cancelled cancelled;
  cancelled.set_peer(error.failure().peer);
  throw cancelled;
}

}  // namespace rdmabench::inline v1::control

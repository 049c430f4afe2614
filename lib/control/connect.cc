// Channel::connect(): from a host's name to a connection.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "handshake.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/log.h"
#include "rdmabench/control/channel.h"
#include "tcp.h"
#include "wait.h"

namespace rdmabench::control {
namespace {

using asio::ip::tcp;

constexpr std::chrono::milliseconds kRetryPause{20};
constexpr std::chrono::milliseconds kBusyPause{5};
constexpr int kBrokenAttempts = 5;  // connections that break before anyone answered

std::vector<tcp::endpoint> resolve(const std::string& host, std::uint16_t port) {
  if (host.empty()) throw Error(Fault::usage, "an empty host name", "Name the server's host.");
  asio::io_context context{1};
  std::error_code error;
  const auto results = tcp::resolver(context).resolve(host, std::to_string(port),
                                                      tcp::resolver::numeric_service, error);
  if (error) {
    throw Error(Fault::failed, fmt::format("unknown host '{}' ({})", host, error.message()),
                "Check the spelling, or give its IP address.");
  }
  std::vector<tcp::endpoint> endpoints;
  for (const auto& result : results) endpoints.push_back(result.endpoint());
  return endpoints;
}

/// A connection within `deadline`, or why not.
std::error_code try_connect(asio::io_context& context, tcp::socket& socket,
                            const tcp::endpoint& endpoint, Deadline deadline,
                            const std::stop_token& stop) {
  if (stop.stop_requested()) return asio::error::operation_aborted;
  std::error_code outcome = asio::error::timed_out;
  socket.async_connect(endpoint, [&](const std::error_code& error) { outcome = error; });
  context.restart();
  do {
    context.run_for(std::min<std::chrono::nanoseconds>(deadline.left(), kStopNap));
  } while (!context.stopped() && !deadline.passed() && !stop.stop_requested());
  if (!context.stopped()) {
    std::error_code ignored;
    socket.close(ignored);
    context.run();
    return stop.stop_requested() ? asio::error::operation_aborted : asio::error::timed_out;
  }
  // Dialling a free port of the ephemeral range on this host can get that very port as the source,
  // and TCP then joins the socket to itself (RFC 9293, simultaneous open).
  if (!outcome && socket.local_endpoint(outcome) == endpoint) {
    outcome = asio::error::connection_refused;
  }
  if (outcome) {
    std::error_code ignored;
    socket.close(ignored);
  }
  return outcome;
}

[[noreturn]] void throw_unreached(const std::string& host, std::uint16_t port,
                                  const std::vector<tcp::endpoint>& tried, std::error_code error,
                                  std::chrono::nanoseconds given) {
  std::string addresses;
  for (const tcp::endpoint& endpoint : tried) {
    const std::string text = address_text(endpoint.address());
    if (text != host) addresses += (addresses.empty() ? " (" : ", ") + text;
  }
  if (!addresses.empty()) addresses += ")";
  std::string what = fmt::format("connect to {}{}", host_and_port(host, port), addresses);
  std::string remedy;
  if (error == asio::error::connection_refused) {
    remedy = fmt::format(
        "Nothing listens there: start the server on {} ('rdmabench serve'), or check `port`.",
        host);
  } else if (error == asio::error::timed_out) {
    what += fmt::format(" within {}", duration_text(given));
    remedy = fmt::format("Is {} up, and does its firewall let TCP port {} in?", host, port);
  } else if (error == asio::error::network_unreachable || error == asio::error::host_unreachable) {
    remedy = fmt::format("Check the route to {}.", host);
  }
  throw Error(Fault::failed, what, remedy, error.value(), {.library = "libc", .name = "connect"});
}

/// Before a server that is busy is tried again: not all clients at once.
std::chrono::nanoseconds busy_pause() {
  const auto random = static_cast<unsigned char>(random_bytes(1)[0]);
  return kBusyPause * (1 + random % 8);
}

}  // namespace

Channel Channel::connect(const std::string& host, std::uint16_t port, Deadline deadline,
                         std::chrono::milliseconds retry, const Authentication& authentication,
                         const std::stop_token& stop) {
  const Authentication own = authentication.loaded();
  const auto given = deadline.left();
  const Deadline patience = Deadline::after(retry);
  const std::vector<tcp::endpoint> endpoints = resolve(host, port);
  bool told = false;
  int broke = 0;
  std::exception_ptr busy;  // the server's answer so far
  try {
    for (;;) {
      std::error_code failure;  // the first, unless some address refused: then the host is up
      for (std::size_t i = 0; i < endpoints.size(); ++i) {
        asio::io_context context{1};
        tcp::socket socket(context);
        const auto share = deadline.left() / static_cast<std::int64_t>(endpoints.size() - i);
        const std::error_code error =
            try_connect(context, socket, endpoints[i], Deadline::after(share), stop);
        if (!error) {
          Descriptor connected(socket.release());
          static_cast<void>(fcntl(connected.get(), F_SETFD, FD_CLOEXEC));
          static_cast<void>(fcntl(connected.get(), F_SETFL, O_NONBLOCK));
          Channel channel(adopt(std::move(connected), endpoints[i], host));
          set_up(*channel.connection_);
          channel.connection_->stop = stop;
          try {
            Handshake::of_client(channel, own, host, deadline);
            channel.connection_->stop = {};
            return channel;
          } catch (const ServerBusy&) {
            if (deadline.passed()) throw;
            busy = std::current_exception();
          } catch (const BrokenHandshake&) {
            if (deadline.passed() || ++broke == kBrokenAttempts) throw;
          } catch (const Refusal&) {
            throw;
          } catch (const Error&) {  // no answer to the last try
            if (busy && deadline.passed()) std::rethrow_exception(busy);
            throw;
          }
          std::this_thread::sleep_for(
              std::min<std::chrono::nanoseconds>(busy_pause(), deadline.left()));
          --i;  // the same address again
          continue;
        }
        if (!failure || error == asio::error::connection_refused) failure = error;
      }
      const bool again = failure == asio::error::connection_refused && !patience.passed();
      if (busy && failure == asio::error::timed_out) std::rethrow_exception(busy);
      if (!again || deadline.passed()) throw_unreached(host, port, endpoints, failure, given);
      if (!std::exchange(told, true)) {
        log_line([&] {
          return fmt::format("connection refused: {} is tried again for {}",
                             host_and_port(host, port), duration_text(patience.left()));
        });
      }
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>({kRetryPause, patience.left(), deadline.left()}));
    }
  } catch (const std::system_error& error) {  // no room for one more socket
    throw Error(Fault::failed, fmt::format("connect to {}", host_and_port(host, port)),
                "Raise 'ulimit -n' if it is too low.", error.code().value());
  }
}

}  // namespace rdmabench::control

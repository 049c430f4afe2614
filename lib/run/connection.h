// The endpoints of one side, the control channel to the other side, and how the two connect.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/run/backends.h"
#include "run/protocol.h"

namespace rdmabench::inline v1::run {

/// Messages to and from the peer, with a deadline for every wait. Thread rule: one thread.
class Connection {
 public:
  /// Over a channel that has to outlive it, or over one of its own.
  Connection(control::Channel& channel, std::chrono::nanoseconds timeout)
      : channel_(channel), timeout_(timeout) {}
  Connection(control::Channel&& channel, std::chrono::nanoseconds timeout)
      : own_(std::move(channel)), channel_(*own_), timeout_(timeout) {}
  Connection& operator=(Connection&&) = delete;

  control::Channel& channel() { return channel_; }
  const control::Channel& channel() const { return channel_; }

  /// Of every wait from here on.
  void set_timeout(std::chrono::nanoseconds timeout) { timeout_ = timeout; }
  std::chrono::nanoseconds timeout() const { return timeout_; }

  /// Ends every wait from here on with Cancelled when it is requested.
  void set_stop(std::stop_token stop) { stop_ = std::move(stop); }
  const std::stop_token& stop() const { return stop_; }
  void throw_if_stopped() const;

  /// Tells the peer why this side leaves, and the error who the peer is.
  void leave(std::exception& error);

  /// Whether the peer said that it leaves what was agreed on, be it to start over.
  bool peer_gave_up() const noexcept { return peer_gave_up_; }

  void send(control::MessageType type, std::string_view payload = {});

  /// Waits for that message and polls the endpoints meanwhile: providers whose progress is manual
  /// may still owe the peer data. Throws what control::Channel::receive() throws.
  std::string receive(control::MessageType type, std::string_view waiting_for);

  /// The same for whatever message comes next.
  control::Message receive(std::string_view waiting_for);
  control::Message receive(std::string_view waiting_for, std::chrono::nanoseconds timeout);

  /// Adds an endpoint, which must live as long as this or until the session starts over.
  void add(OpenEndpoint& endpoint) { endpoints_.push_back(&endpoint); }

  /// Of every endpoint, in order.
  std::vector<std::string> addresses() const;

  /// Connects every endpoint. Throws Error(failed) for another number of addresses than there are
  /// endpoints.
  void connect(const std::vector<std::string>& peer_addresses);

 protected:
  /// The next message, without polling the endpoints.
  control::Message take(const Deadline& deadline, std::string_view waiting_for);
  /// Where both sides leave what they agreed on: tells the peer so and waits until it has said the
  /// same. Throws Error(failed) where it does not.
  void leave_together(std::string_view reason);

 private:
  void wait_readable(const Deadline& deadline, std::chrono::nanoseconds timeout,
                     std::string_view waiting_for);

  std::optional<control::Channel> own_;
  control::Channel& channel_;
  std::chrono::nanoseconds timeout_;
  std::stop_token stop_;
  bool peer_gave_up_ = false;  ///< an abort of the peer was taken from the channel
  std::vector<OpenEndpoint*> endpoints_;
};

/// The request as back ends are to offer for it where the caller's own code branches by kPostLists:
/// there a back end without lists is as good.
transport::EndpointRequest without_lists(transport::EndpointRequest request);

/// The back ends that a request of the client allows: that of the given name, or for "auto" all but
/// loop, which reaches only this process. `request.local_ip` is the address that the user named.
/// Throws what find_backend() throws, and Error(usage) for options that exclude each other.
std::vector<const Backend*> candidates(std::string_view backend,
                                       const transport::EndpointRequest& request);

/// What a back end that was added has no use for, of what is asked for: "completion events"; "" for
/// nothing, and of those of rdmabench, which say so themselves.
std::string lack_of(const Backend& backend, const transport::EndpointRequest& request);

/// What the back end offers to the peer, or why it cannot be used. Throws Error(usage) for the name
/// of a device that does not exist.
Offer make_offer(const Backend& backend, const transport::EndpointRequest& request);

/// The offers of the client for each rail, which is one of its devices. Throws Error(unavailable)
/// for a rail that no back end can use: the peer need not be asked then.
std::vector<std::vector<Offer>> make_offers(const std::vector<const Backend*>& backends,
                                            const std::vector<transport::EndpointRequest>& rails);

/// Opens one endpoint and adds it to the connection.
using OpenOne = std::function<void(
    const Backend& backend, const transport::EndpointRequest& request, std::string_view choice)>;

struct ServerAnswer {
  std::string reason;           ///< why this back end and path were chosen
  report::Facts environment{};  ///< in the server's own words
  MemoryPath memory = MemoryPath::host;
  transport::WriteOrder writes;  ///< of what comes to the server
};

/// The client's half, after its offers were sent: chooses the first of `backends` by which both
/// sides reach each other on every rail, opens `count` endpoints over the rails in turn and
/// connects them. The server has `offer_timeout` for its offers. Throws Error(unavailable) that
/// says of each back end why not.
ServerAnswer connect_client(Connection& connection, const std::vector<const Backend*>& backends,
                            const std::vector<transport::EndpointRequest>& rails,
                            const std::vector<std::vector<Offer>>& ours, std::size_t count,
                            const OpenOne& open, std::chrono::nanoseconds offer_timeout);

/// Whether a server that serves the back end of that name, or "auto", serves this one.
bool serves(std::string_view name, const Backend& backend);

/// The server's offer for each back end that the client can use and it serves.
std::vector<Offer> answer_offers(const transport::EndpointRequest& request,
                                 const std::vector<Offer>& theirs,
                                 std::string_view served = "auto");

/// What connect_server() leaves to its caller, in this order.
struct ServerSteps {
  /// Refuses by throwing: neither side has opened anything then. Not called if empty.
  std::function<void(const Backend& backend, const std::vector<std::string>& choices)> admit;
  OpenOne open;
  std::function<Introduction()> introduce;  ///< all are open; the addresses are filled in
};

/// The server's half: sends its answer to the client's offers, opens what the client chose for each
/// of `rails`, and connects. It is the caller who says the second `ready`.
void connect_server(Connection& connection, const transport::EndpointRequest& request,
                    const std::vector<Offer>& ours, std::size_t rails, std::size_t count,
                    const ServerSteps& steps);

}  // namespace rdmabench::inline v1::run

// Connects the endpoints of two processes that have a control channel, with the choice of back end,
// device and provider that `rdmabench` makes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/endpoints.h"
#include "rdmabench/results/result.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/transport/transport.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::run {

/// Opens an endpoint of the back end of that name.
using OpenEndpointOf = std::function<OpenEndpoint&(
    std::string_view backend, const transport::EndpointRequest& request, std::string_view choice)>;

/// What with_connected() does before and after the callback; a program calls that.
class ConnectedPair {
 public:
  /// Exchanges offers with the peer, chooses, opens by `open`, exchanges addresses and connects.
  ConnectedPair(control::Channel& channel, transport::EndpointRequest request,
                std::string_view backend, const OpenEndpointOf& open);
  ~ConnectedPair();
  ConnectedPair& operator=(ConnectedPair&&) = delete;

  /// Waits until the peer has finished too, and polls the endpoint meanwhile: the peer may still
  /// need it. Throws Error(failed) when the peer gives up or the time is over.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Opens an endpoint in each of two processes, connects them, and calls callback(T& endpoint) with
/// the endpoint of this side, whose type T is that of the chosen back end. Both processes call this
/// at the same time, one with `request.client`, and with requests that agree as
/// transport::EndpointRequest says. `request.local_ip` and `peer_ip` that are empty become those
/// of the channel.
///
/// `backend` is "auto", "verbs", "ofi", "ucx" or "loop", and counts at the client: the server
/// follows. The client chooses among the back ends by which both sides can reach each other, in the
/// order of backends(); `request.device` and `request.options.ofi.provider` narrow the choice.
/// `Own` are endpoint types of back ends that this process has added (run/worker.h): the callback
/// is compiled for them too.
///
/// Where the chosen back end has no lists (kPostLists), options.post_list is of no use and no
/// obstacle.
///
/// When the callback has returned, both sides wait for each other before they close. The channel is
/// the caller's and stays open; the callback may use it when both sides do so alike. Every wait for
/// the peer takes at most request.timeout; if one callback returns more than that after the other,
/// the side that waited throws, and the late one may not learn of it.
///
/// Throws Error: usage for an impossible request, unavailable where no back end reaches the
/// peer, failed for anything else. An exception of the callback is rethrown after the peer was
/// told.
template <transport::Transport... Own, class Callback>
void with_connected(control::Channel& channel, const transport::EndpointRequest& request,
                    std::string_view backend, Callback&& callback) {
  std::unique_ptr<OpenEndpoint> owner;
  std::function<void()> call;
  const auto open = [&](std::string_view name, const transport::EndpointRequest& chosen,
                        std::string_view choice) -> OpenEndpoint& {
    const auto hold = [&](auto type) {
      using T = typename decltype(type)::type;
      auto holder = std::make_unique<EndpointHolder<T>>(chosen, choice);
      call = [&endpoint = holder->endpoint(), &callback] { callback(endpoint); };
      owner = std::move(holder);
    };
    if (const std::type_info* const added = find_backend(name).endpoint) {
      static_cast<void>(
          ((*added == typeid(Own) && (hold(std::type_identity<Own>()), true)) || ...));
    } else {
      transport::with_endpoint_type(name, chosen, hold);
    }
    if (owner == nullptr) {
      throw Error(Fault::usage,
                  "no code of this call is for the back end '" + std::string(name) + "'",
                  "Give its endpoint type to with_connected() as a template argument.");
    }
    return *owner;
  };
  ConnectedPair pair(channel, request, backend, open);
  call();
  pair.finish();
}

/// Watches what may disturb an own loop, as run() watches its epochs: hardware counters, where the
/// thread runs, and how noisy the machine is. Thread rule: one thread, that which measures.
class DisturbanceWatch {
 public:
  /// `devices`: Description::device of the endpoints, each once. Where both sides are one process
  /// the server's has none. `client` is the side that the texts name.
  explicit DisturbanceWatch(std::vector<std::string> devices, bool client = true);
  ~DisturbanceWatch();
  DisturbanceWatch& operator=(DisturbanceWatch&&) = delete;

  /// Before the first message. It takes 20 ms, or as long as the kernel may tell old counters (30
  /// ms by default).
  void begin();

  /// After the last message; it waits for the counters, too. As Report::suspicions; of a latency
  /// test also by its p99, in nanoseconds. Never throws for what cannot be read.
  std::vector<report::Suspicion> end(double p99_ns = 0);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Throws why an epoch over an EpochIo ended, an Error or Cancelled: "nothing completed for 10 s,
/// waiting for the peer's message: message 812 of 1000 (64 bytes) with node2". Its failure() has
/// the outcome and the peer. `timeout` is that of the Watch, `peer` names the other side, `failure`
/// is Endpoint::failure(), and `known` Endpoint::failed_call() where there is one.
[[noreturn]] void throw_epoch_error(const workload::EpochResult& result,
                                    const workload::EpochPlan& plan,
                                    std::chrono::nanoseconds timeout, std::string_view peer,
                                    std::string_view failure, Failure known = {});

}  // namespace rdmabench::inline v1::run

#include "rdmabench/run/connect.h"

#include "health/run_watch.h"
#include "health/suspect.h"
#include "run/connection.h"
#include "run/protocol.h"

namespace rdmabench::inline v1::run {

struct ConnectedPair::State {
  State(control::Channel& channel, std::chrono::nanoseconds timeout)
      : connection(channel, timeout) {}

  Connection connection;
  bool finished = false;
};

ConnectedPair::ConnectedPair(control::Channel& channel, transport::EndpointRequest request,
                             std::string_view backend, const OpenEndpointOf& open)
    : state_(std::make_unique<State>(channel, request.timeout)) {
  Connection& connection = state_->connection;
  const OpenOne open_one = [&](const Backend& chosen, const transport::EndpointRequest& wanted,
                               std::string_view choice) {
    connection.add(open(chosen.name, wanted, choice));
  };
  try {
    // First: an address that the caller names is one of libfabric's options, the channel's is not.
    const std::vector<const Backend*> allowed = candidates(backend, without_lists(request));
    if (request.local_ip.empty()) request.local_ip = channel.local_ip();
    if (request.peer_ip.empty()) request.peer_ip = channel.peer_ip();
    if (request.client) {
      const std::vector<std::vector<Offer>> ours = make_offers(allowed, {without_lists(request)});
      connection.send(SessionMessage::request, to_text(ours.front()));
      connect_client(connection, allowed, {request}, ours, 1, open_one, connection.timeout());
    } else {
      const std::vector<Offer> theirs =
          parse<std::vector<Offer>>(connection.receive(SessionMessage::request, "request"));
      connect_server(connection, request, answer_offers(without_lists(request), theirs), 1, 1,
                     {.admit = {}, .open = open_one, .introduce = [] { return Introduction(); }});
      connection.send(SessionMessage::ready, to_text(Readiness{}));
    }
  } catch (std::exception& error) {
    connection.leave(error);
    throw;
  }
}

ConnectedPair::~ConnectedPair() {
  if (!state_->finished)
    state_->connection.channel().abort("its program left the callback of with_connected() early");
}

void ConnectedPair::finish() {
  state_->connection.send(SessionMessage::bye);
  state_->connection.receive(SessionMessage::bye, "end of its callback");
  state_->finished = true;
}

struct DisturbanceWatch::State {
  health::RunWatch watch;
  bool client;
};

DisturbanceWatch::DisturbanceWatch(std::vector<std::string> devices, bool client)
    : state_(new State{health::RunWatch(std::move(devices)), client}) {}
DisturbanceWatch::~DisturbanceWatch() = default;

void DisturbanceWatch::begin() {
  state_->watch.begin();
}

std::vector<report::Suspicion> DisturbanceWatch::end(double p99_ns) {
  const health::RunConditions own = state_->watch.end();
  report::Report report;
  auto& rows = report.results.emplace<std::vector<report::LatencyResult>>();
  if (p99_ns > 0) rows.emplace_back().latency.p99_ns = p99_ns;
  return state_->client ? health::judge(own, nullptr, report)
                        : health::judge(health::RunConditions(), &own, report);
}

}  // namespace rdmabench::inline v1::run

// Our own stream, for counting its instructions: stream_once(ARGUMENTS) of a back end's program
// NAME_stream_once OP COUNT SIZE SIGNAL_EVERY POST_LIST. COUNT is at most 16000.
//
// Both endpoints are in this process and one thread drives them, as in the bare loops of versus/,
// the floors that this is held against. The loops are those of `rdmabench bw`. A target of sends
// finds all of them arrived when its turn comes.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include "rdmabench/workload/loops.h"

namespace rdmabench::bench {

using transport::OperationCode;

inline transport::EndpointRequest request_for(OperationCode operation, char** argv) {
  transport::EndpointRequest request;
  request.operations = operation;
  request.latency = false;
  request.max_size = std::strtoull(argv[3], nullptr, 10);
  request.depth = 128;
  request.send_slots = 64;
  request.receive_slots = 64;
  request.signal_every = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
  request.options.post_list = static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 10));
  // As many for every COUNT, so that set-up is the same and drops out of the difference.
  request.receives = transport::notifies(operation) ? 16384 : 8;
  return request;
}

template <class Endpoint>
bool run(Endpoint& endpoint, const workload::LoopKey& key, const workload::EpochPlan& plan) {
  workload::Watch watch(std::chrono::seconds(10), nullptr);
  const workload::Loop<Endpoint> loop = workload::find_loop<Endpoint>(key).loop;
  if (loop(endpoint, plan, watch, {}).outcome == workload::Outcome::ok) return true;
  std::fprintf(stderr, "%s\n", endpoint.failure().c_str());
  return false;
}

/// Some back ends connect with the first messages, while both sides poll.
template <class Endpoint>
bool warm_up(Endpoint& a, Endpoint& b) {
  int arrived = 0;
  const auto take = [&](Endpoint& endpoint) {
    return endpoint.poll([&](const transport::Received& received) noexcept {
      ++arrived;
      endpoint.post_receive(received.slot);
    }) >= 0;
  };
  for (Endpoint* const one : {&a, &b}) {
    one->template post<transport::Send>(0, 0, 0, 0, transport::Signal::now);
  }
  while (arrived < 2 || a.completed() != a.posted() || b.completed() != b.posted()) {
    if (!take(a) || !take(b)) return false;
  }
  return true;
}

/// The confirmation that the initiator waits for at its end is on its way before it begins.
template <class Endpoint>
void confirm_early(Endpoint& target) {
  target.template post<transport::Send>(0, 0, 0, 0, transport::Signal::now);
  while (target.completed() != target.posted()) {
    if (target.poll([](const transport::Received&) noexcept {}) < 0) return;
  }
}

template <class Endpoint>
[[nodiscard]] int stream(const transport::EndpointRequest& request, const transport::Choice& choice,
                         char** argv, OperationCode operation) {
  Endpoint initiator(request, choice.client);
  Endpoint target(request, choice.server);
  initiator.connect(target.address());
  target.connect(initiator.address());
  workload::EpochPlan plan;
  plan.iterations = std::strtoull(argv[2], nullptr, 10);
  plan.size = request.max_size;
  plan.depth = request.depth;
  plan.receives = request.receives;
  plan.post_list = request.options.post_list;
  if (Endpoint::kNeedsProgress && !warm_up(initiator, target)) return 1;
  confirm_early(target);

  workload::LoopKey key{.shape = workload::Shape::bandwidth, .operation = operation};
  if (!run(initiator, key, plan)) return 1;
  key.side = workload::Side::target;
  const bool is_good = run(target, key, plan);
  std::_Exit(is_good ? 0
                     : 1);  // an endpoint that closes may wait for the other, which nobody polls
}

/// `open`: stream() of the back end, for a request.
template <class Open>
int stream_once(int argc, char** argv, std::initializer_list<OperationCode> operations,
                Open&& open) {
  const std::string_view name = argc == 6 ? argv[1] : "";
  for (const OperationCode code : operations) {
    if (name != transport::name(code)) continue;
    try {
      return open(request_for(code, argv), code);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
      return 1;
    }
  }
  std::fprintf(stderr, "usage: %s OP COUNT SIZE SIGNAL_EVERY POST_LIST\n", argv[0]);
  return 2;
}

}  // namespace rdmabench::bench

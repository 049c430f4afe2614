#include "rdmabench/run/session.h"

#include <fmt/format.h>

#include "rdmabench/base/error.h"
#include "rdmabench/run/epoch_text.h"

namespace rdmabench::run {

using workload::EpochPlan;
using workload::EpochResult;
using workload::LoopKey;
using workload::Outcome;
using workload::Side;

void Session::send(control::MessageType type, std::string_view payload) {
  channel_.send(type, payload, Deadline::after(timeout_));
}

void Session::wait_readable(const Deadline& deadline) {
  // The answer mostly comes at once; but a server that waits for its client's next wish must not
  // burn a core.
  constexpr auto kSpin = std::chrono::milliseconds(1);
  constexpr auto kNap = std::chrono::milliseconds(1);
  const Deadline spin = Deadline::after(kSpin);
  while (link_ != nullptr && !deadline.passed()) {
    if (channel_.readable(spin.passed() ? kNap : std::chrono::milliseconds(0))) return;
    link_->progress();
  }
}

std::string Session::receive(control::MessageType type, std::string_view waiting_for) {
  const Deadline deadline = Deadline::after(timeout_);
  wait_readable(deadline);
  return channel_.receive(type, deadline, waiting_for);
}

control::Message Session::receive(std::string_view waiting_for) {
  const Deadline deadline = Deadline::after(timeout_);
  wait_readable(deadline);
  return channel_.receive(deadline, waiting_for);
}

LoopKey Session::key(Side side) const {
  return {.shape = spec_.shape,
          .operation = spec_.operation,
          .side = side,
          .validate = spec_.validate,
          .clock = measure::clock_choice().source};
}

EpochPlan Session::plan(const EpochOrder& order) const {
  const transport::EndpointRequest request = endpoint_request(spec_, true);
  return {.iterations = order.iterations,
          .size = order.size,
          .depth = request.depth,
          .receives = request.receives};
}

void Session::stage(Side side, const EpochOrder& order) {
  link_->stage(key(side), plan(order));
}

EpochResult Session::run(Side side, const EpochOrder& order, std::span<measure::Ticks> intervals) {
  workload::Watch watch(timeout_, [this] { return channel_.interrupted(); });
  const EpochResult result = link_->run(key(side), plan(order), watch, intervals);
  if (result.outcome == Outcome::ok) return result;
  if (channel_.interrupted()) {
    // The peer's own words are the better account: this throws them.
    static_cast<void>(channel_.receive(control::MessageType::result, Deadline::after(timeout_),
                                       "reason of the peer"));
  }
  throw Error(Fault::failed,
              epoch_text(result, plan(order), timeout_, channel_.peer(), link_->failure()));
}

Offer make_offer(const Backend& backend, const transport::EndpointRequest& request) {
  Offer offer{.backend = std::string(backend.name), .text = "", .error = ""};
  try {
    offer.text = backend.offer(request);
  } catch (const Error& error) {
    if (error.fault() == Fault::usage) throw;  // a device that does not exist is not "try another"
    offer.error = error.what();
  }
  return offer;
}

}  // namespace rdmabench::run

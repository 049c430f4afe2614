#include "run/epoch_text.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "rdmabench/run/connect.h"

namespace rdmabench::inline v1::run {
namespace {

using workload::Outcome;
using workload::Wait;

std::string_view wait_text(Wait wait) {
  constexpr std::array<std::string_view, 5> kWords{
      "posting", "waiting for the peer's message", "waiting for the completion of our own message",
      "waiting for the peer to confirm that all messages arrived",
      "waiting for room in the send queue"};
  return kWords[static_cast<std::size_t>(wait)];
}

Failure known_of(Outcome outcome, Failure known) {
  known.outcome = name(outcome);
  return known;
}

}  // namespace

std::string_view name(Outcome outcome) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"ok", "stalled", "interrupted", "cancelled", "post_failed", "completion_failed",
       "memory_failed", "wrong_size", "wrong_messages", "wrong_data", "wrong_immediate"});
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string epoch_text(const workload::EpochResult& result, const workload::EpochPlan& plan,
                       std::chrono::nanoseconds timeout, std::string_view peer,
                       std::string_view failure) {
  std::string where = fmt::format("message {} of {} ({} bytes) with {}", result.message,
                                  plan.iterations, result.posted.value_or(plan.size), peer);
  switch (result.outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::stalled:
      return fmt::format("nothing completed for {}ms, {}: {}",
                         std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(),
                         wait_text(result.wait), where);
    case Outcome::cancelled:
      return "cancelled by the caller";
    case Outcome::interrupted:
      return fmt::format("the peer left, {}: {}", wait_text(result.wait), where);
    case Outcome::post_failed:
      return fmt::format("a post failed: {}: {}", where, failure);
    case Outcome::completion_failed:
      return fmt::format("the endpoint failed, {}: {}: {}", wait_text(result.wait), where, failure);
    case Outcome::memory_failed:
      return fmt::format("what was received could not be compared: {}", failure);
    case Outcome::wrong_size:
      return fmt::format("wrong length: {} arrived with another length", where);
    case Outcome::wrong_messages:
      return fmt::format(
          "wrong messages: each is intact, but some are missing or came twice; noticed at {}",
          where);
    case Outcome::wrong_data:
      return fmt::format("wrong data: byte {} of {} is not what was sent", result.byte, where);
    case Outcome::wrong_immediate:
      return fmt::format("wrong immediate: {} did not carry the value it was sent with", where);
  }
  return where;
}

std::string_view epoch_remedy(Outcome outcome) noexcept {
  if (outcome != Outcome::stalled) return "";
  return "The peer may have stopped, or the path between the devices drops packets; raise `timeout` "
         "if it is only slow.";
}

EpochError::EpochError(Outcome outcome, std::string_view text, Failure known)
    : Error(Fault::failed, text, epoch_remedy(outcome), 0, known_of(outcome, std::move(known))),
      outcome_(outcome) {}

void throw_epoch_error(const workload::EpochResult& result, const workload::EpochPlan& plan,
                       std::chrono::nanoseconds timeout, std::string_view peer,
                       std::string_view failure, Failure known) {
  if (result.outcome == Outcome::cancelled) {
    Cancelled cancelled;
    cancelled.set_peer(std::string(peer));
    throw cancelled;
  }
  known.peer = peer;
  throw Error(Fault::failed, epoch_text(result, plan, timeout, peer, failure),
              epoch_remedy(result.outcome), 0, known_of(result.outcome, std::move(known)));
}

}  // namespace rdmabench::inline v1::run

#include "run/epoch_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>

#include "rdmabench/run/connect.h"

namespace rdmabench::run {
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
                                  plan.iterations, plan.size, peer);
  switch (result.outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::stalled:
      return fmt::format(
          "nothing completed for {}, {}: {}. The peer may have stopped, or the path between the "
          "devices drops "
          "packets; raise `timeout` if it is only slow",
          std::chrono::duration_cast<std::chrono::milliseconds>(timeout), wait_text(result.wait),
          where);
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

report::Failure failure_of(const std::exception& error) {
  report::Failure failure;
  if (const auto* const known = dynamic_cast<const Error*>(&error)) {
    failure.fault = known->fault();
    failure.code = known->code();
    failure.library = known->call().library;
    failure.call = known->call().name;
    failure.status = known->call().status;
    failure.remedy = known->remedy();
  }
  if (const auto* const epoch = dynamic_cast<const EpochError*>(&error)) {
    failure.outcome = name(epoch->outcome());
  }
  return failure;
}

}  // namespace rdmabench::run

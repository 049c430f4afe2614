// The completion queues of an endpoint: one or two, polled or waited for.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "rdmabench/verbs/handles.h"

namespace rdmabench::inline v1::verbs {

struct CompletionQueueSpec {
  std::uint32_t sends = 1;     ///< entries for sends; also for receives if `receives` is 0
  std::uint32_t receives = 0;  ///< entries of a separate queue for receives
  bool events = false;         ///< wait_for_event() sleeps; else no event is ever made
  int vector = 0;              ///< completion vector for the events
};

/// Owns the queues and their channel. Thread rule: one thread at a time.
class CompletionQueues {
 public:
  /// Throws Error(failed). Source: ibv_create_cq(3), ibv_create_comp_channel(3).
  CompletionQueues(ibv_context& context, const CompletionQueueSpec& spec);
  ~CompletionQueues();
  CompletionQueues& operator=(CompletionQueues&&) = delete;

  ibv_cq* sends() const noexcept { return all_[0]; }
  ibv_cq* receives() const noexcept { return all_[count_ - 1]; }
  /// Each queue once.
  std::span<ibv_cq* const> all() const noexcept { return {all_.data(), count_}; }

  /// Which call of wait_for_event() failed and its errno; `call` is null after success.
  struct WaitFailure {
    const char* call = nullptr;
    int code = 0;
  };

  /// Call it after polls of all queues came back empty. The first call asks for events and returns
  /// at once, because what completed before it makes none: poll again. The next one sleeps until
  /// there is an event or `at_most` has passed. Source: ibv_get_cq_event(3), ibv_req_notify_cq(3).
  WaitFailure wait_for_event(std::chrono::milliseconds at_most) noexcept;

 private:
  bool arm(WaitFailure& failure) noexcept;
  void take_events(WaitFailure& failure) noexcept;

  CompletionChannel channel_;
  std::array<CompletionQueue, 2> queues_;  ///< after the channel, which they refer to
  std::array<ibv_cq*, 2> all_{};
  std::array<bool, 2> armed_{};
  std::array<unsigned, 2> unacknowledged_{};  ///< a queue cannot be destroyed with any left
  std::uint32_t count_ = 1;
};

}  // namespace rdmabench::inline v1::verbs

// Polling with a watch: the waits that every loop is made of.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "rdmabench/transport/transport.h"
#include "rdmabench/workload/epoch.h"
#include "rdmabench/workload/watch.h"

namespace rdmabench::workload {

/// Drives one endpoint for one epoch: posts when there is room, polls, gives receives back to the
/// endpoint.
///
/// Every function returns false when the epoch is over; `result` then says why. While it waits for
/// anything it polls, so that a peer's one-sided operations make progress on providers that need
/// our help.
template <transport::Transport T>
class Inbox {
 public:
  /// Allocates, so make it before the clock starts.
  Inbox(T& endpoint, const EpochPlan& plan, Watch& watch, EpochResult& result)
      : endpoint_(endpoint), watch_(watch), result_(result) {
    held_.reserve(plan.receives);
    watch_.progress();
  }

  /// One poll. `on_receive` must see to it that every receive is given back, now or later.
  template <class OnReceive>
  bool poll(Wait wait, OnReceive&& on_receive) noexcept {
    const int seen = endpoint_.poll(on_receive);
    if (seen > 0) [[likely]] {
      watch_.progress();
    } else if (seen < 0) {
      return end(Outcome::completion_failed, wait);
    } else if (watch_.give_up()) {
      return end(watch_.outcome(), wait);
    }
    return held_.empty() ? true : give_back_held();
  }

  /// One poll where nothing but the peer's token can arrive.
  bool poll(Wait wait) noexcept {
    bool whole = true;
    const bool going = poll(wait, [&](const transport::Received& received) noexcept {
      if (received.bytes != 0) whole = end(Outcome::wrong_size, Wait::confirmation);
      token_ = true;
      give_back(received.slot);
    });
    return going && whole;
  }

  /// One turn of a wait that watches memory instead of the completion queue. Looks there now and
  /// then, because that is where a broken connection shows.
  bool idle(Wait wait) noexcept {
    if (watch_.give_up()) return end(watch_.outcome(), wait);
    return ++turns_ % Watch::kPollsPerLook != 0 || poll(wait);
  }

  /// A slot that the endpoint takes back at once, or after a later poll.
  void give_back(std::uint32_t slot) noexcept {
    if constexpr (!T::template consumes_receive<transport::WriteImm>) {
      if (slot == transport::kNoSlot) return;
    }
    if (endpoint_.post_receive(slot) != transport::PostStatus::posted) [[unlikely]] {
      held_.push_back(slot);  // within what the constructor reserved: one entry a receive at most
    }
  }

  /// Posts one message, polling for room while there is none. Use where no receive is expected
  /// meanwhile.
  template <class Op>
  bool post(std::uint64_t offset, std::uint32_t immediate, transport::Signal signal) noexcept {
    return until_posted(
        [&]() noexcept { return endpoint_.template post<Op>(offset, immediate, signal); });
  }

  /// Tells the peer "I am done" and waits until all that was posted has completed.
  bool send_token() noexcept {
    return until_posted([&]() noexcept { return endpoint_.post_token(transport::Signal::now); }) &&
           drain();
  }

  bool drain() noexcept {
    while (endpoint_.completed() != endpoint_.posted()) {
      if (!poll(Wait::completion)) return false;
    }
    return true;
  }

  /// Waits for the peer's token, whose receive is the next to arrive. Naps between polls where told
  /// to.
  bool wait_token(std::chrono::microseconds nap = std::chrono::microseconds(0)) noexcept {
    while (!token_) {
      if (!poll(Wait::confirmation)) return false;
      if (nap.count() > 0) std::this_thread::sleep_for(nap);
    }
    return true;
  }

  bool end(Outcome outcome, Wait wait) noexcept {
    if (result_.outcome == Outcome::ok) {
      result_.outcome = outcome;
      result_.wait = wait;
    }
    return false;
  }

 private:
  template <class Post>
  bool until_posted(Post&& post_once) noexcept {
    for (;;) {
      const transport::PostStatus status = post_once();
      if (status == transport::PostStatus::posted) [[likely]]
        return true;
      if (status == transport::PostStatus::failed) return end(Outcome::post_failed, Wait::nothing);
      if (!poll(Wait::room_to_post)) return false;
    }
  }

  /// A provider may refuse a receive for the moment; it is offered again after each poll.
  bool give_back_held() noexcept {
    while (!held_.empty()) {
      const transport::PostStatus status = endpoint_.post_receive(held_.back());
      if (status == transport::PostStatus::failed) return end(Outcome::post_failed, Wait::nothing);
      if (status == transport::PostStatus::busy) return true;
      held_.pop_back();
    }
    return true;
  }

  T& endpoint_;
  Watch& watch_;
  EpochResult& result_;
  std::vector<std::uint32_t> held_;
  std::uint64_t turns_ = 0;
  bool token_ = false;
};

}  // namespace rdmabench::workload

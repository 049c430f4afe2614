// Posts, polls and reposts receives for one epoch, and ends it on a stall or failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include "rdmabench/transport/transport.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::workload {

/// Drives one endpoint for one epoch: posts when there is room, polls, gives receives back to the
/// endpoint.
///
/// Every function returns false when the epoch is over; `result` then says why. While it waits for
/// anything it polls, so that a peer's one-sided operations make progress on providers that need
/// our help. `on_receive` must repost every receive, now or later. The overloads without it
/// accept only the peer's marker.
template <transport::Transport T>
class EpochIo {
 public:
  /// Allocates, so make it before the clock starts.
  EpochIo(T& endpoint, const EpochPlan& plan, Watch& watch, EpochResult& result)
      : endpoint_(endpoint), watch_(watch), result_(result) {
    held_.reserve(std::size_t{plan.receives} * endpoint.queue_pairs());
    if (plan.events) watch_.look_always();
    watch_.watch_device(endpoint);
    watch_.progress();
  }

  /// One poll, and if it was empty, wait_for_event(): for a wait that nothing but a completion
  /// ends. Where `on_receive` itself calls end(), this still returns true: look at the outcome of
  /// the EpochResult, too.
  template <class OnReceive>
  bool poll(Wait wait, OnReceive&& on_receive) noexcept {
    return look(wait, on_receive, true);
  }

  bool poll(Wait wait) noexcept {
    bool whole = true;
    return poll(wait, on_marker(whole)) && whole;
  }

  /// One poll between other things to do: never sleeps.
  template <class OnReceive>
  bool poll_once(Wait wait, OnReceive&& on_receive) noexcept {
    return look(wait, on_receive, false);
  }

  bool poll_once(Wait wait) noexcept {
    bool whole = true;
    return poll_once(wait, on_marker(whole)) && whole;
  }

  /// One step of a wait that polls memory. Polls the completion queue now and then, because a
  /// broken connection is reported only there; always where the peer's bytes come by our polls.
  bool idle(Wait wait) noexcept {
    if constexpr (T::kNeedsProgress) return poll_once(wait);
    if (watch_.give_up()) return end(watch_.outcome(), wait);
    return ++turns_ % Watch::kPollsPerLook != 0 || poll_once(wait);
  }

  /// No message is scheduled now, so silence is not a stall.
  void nothing_due() noexcept { watch_.nothing_due(); }

  /// A slot that the endpoint takes back at once, or after a later poll.
  void give_back(std::uint32_t slot) noexcept {
    if constexpr (!T::template consumes_receive<transport::WriteImm>) {
      if (slot == transport::kNoSlot) return;
    }
    if (endpoint_.post_receive(slot) != transport::PostStatus::posted) [[unlikely]] {
      held_.push_back(slot);  // within what the constructor reserved: one entry a receive at most
    }
  }

  /// The same from within a poll's on_receive(): where the endpoint can, together with the others
  /// of that poll.
  void give_back_together(std::uint32_t slot) noexcept {
    if constexpr (requires { endpoint_.defer_receive(slot); }) {
      endpoint_.defer_receive(slot);
    } else {
      give_back(slot);
    }
  }

  /// Posts one message, and polls for room while there is none. What arrives meanwhile goes to
  /// `on_receive`, which may be the one of poll(). The message is a transport::Message or a
  /// RegionMessage.
  template <class Op, class M = transport::Message, class OnReceive>
  bool post(const M& message, transport::Signal signal, std::uint32_t queue_pair,
            OnReceive&& on_receive) noexcept {
    constexpr bool kRegions = std::is_same_v<M, transport::RegionMessage>;
    static_assert(kRegions || std::is_same_v<M, transport::Message>,
                  "post() takes a transport::Message or a transport::RegionMessage");
    static_assert(T::template supports<Op>,
                  "this endpoint type lacks the operation: post it within "
                  "if constexpr (T::template supports<Op>)");
    for (;;) {
      transport::PostStatus status{};
      if constexpr (kRegions) {
        status = endpoint_.template post<Op>(message, signal, queue_pair);
      } else {
        status = endpoint_.template post<Op>(message.local, message.remote, message.bytes,
                                             message.word, signal, queue_pair);
      }
      if (status == transport::PostStatus::posted) [[likely]]
        return true;
      if (status == transport::PostStatus::failed) return post_failed(message.bytes);
      if (!poll(Wait::room_to_post, on_receive)) return false;
    }
  }

  /// The same where nothing but the peer's marker can arrive.
  template <class Op, class M = transport::Message>
  bool post(const M& message, transport::Signal signal, std::uint32_t queue_pair = 0) noexcept {
    bool whole = true;
    return post<Op>(message, signal, queue_pair, on_marker(whole)) && whole;
  }

  /// A send of 0 bytes on queue pair 0: "I am done".
  template <class OnReceive>
  bool post_marker(OnReceive&& on_receive) noexcept {
    return post<transport::Send>({}, transport::Signal::now, 0, on_receive);
  }

  /// Tells the peer "I am done" and waits until all that was posted has completed.
  bool send_marker() noexcept {
    bool whole = true;
    return post_marker(on_marker(whole)) && whole && drain();
  }

  /// Waits until all that was posted has completed. Nothing but a marker may arrive meanwhile: any
  /// other message ends the epoch with wrong_size, and every message of 0 bytes counts as the
  /// marker, its immediate unseen. Where others may arrive, call poll() with a function of your own
  /// until completed() is posted().
  bool drain() noexcept {
    while (endpoint_.completed() != endpoint_.posted()) {
      if (!poll(Wait::completion)) return false;
    }
    return true;
  }

  /// Waits for the peer's marker, whose receive is the next to arrive. Naps between polls where
  /// told to.
  bool wait_marker(std::chrono::microseconds nap = std::chrono::microseconds(0)) noexcept {
    if (nap.count() > 0) watch_.look_always();
    while (!marker_) {
      if (!poll(Wait::confirmation)) return false;
      if (nap.count() > 0) std::this_thread::sleep_for(nap);
    }
    return true;
  }

  /// Where messages may be lost: sends the marker again every 10 ms until `enough()`, or until the
  /// peer's result is on the control channel. `on_receive` calls moved() for progress.
  /// Completions of our own markers do not count as progress.
  template <class Enough, class OnReceive>
  bool resend_marker_until(Enough&& enough, OnReceive&& on_receive) noexcept {
    constexpr auto kBetweenMarkers = std::chrono::milliseconds(10);
    auto sent = std::chrono::steady_clock::time_point{};
    while (!enough() && !watch_.answered()) {
      const auto now = std::chrono::steady_clock::now();
      if (now - sent >= kBetweenMarkers) {
        sent = now;
        if (endpoint_.template post<transport::Send>(0, 0, 0, 0, transport::Signal::now) ==
            transport::PostStatus::failed) {
          return end(Outcome::post_failed, Wait::confirmation);
        }
      }
      if (endpoint_.poll(on_receive) < 0) {
        return end(Outcome::completion_failed, Wait::confirmation);
      }
      if (!unoccupied(Wait::confirmation, true)) return false;
      if (result_.outcome != Outcome::ok) return false;
    }
    return true;
  }

  /// The same until the peer's marker has come, and all that was posted has completed.
  bool resend_marker() noexcept {
    bool whole = true;
    return resend_marker_until([this]() noexcept { return marker_; }, on_marker(whole)) && whole &&
           drain();
  }

  void moved() noexcept { watch_.progress(); }

  /// Brings `extent` up to date; `pump` is how far the caller's pump is.
  bool extend(Extent& extent, const EpochResult* pump = nullptr) noexcept {
    watch_.extend(extent, pump);
    return extent.over ? end(Outcome::interrupted, Wait::nothing) : true;
  }

  /// At the end of an epoch that grew, when no message is left to come: the plan of all of it.
  bool settle(EpochPlan& plan) noexcept {
    Extent extent{.iterations = plan.iterations, .whole = !plan.grows};
    while (!extent.whole) {
      if (!extend(extent) || !(extent.whole || poll_once(Wait::confirmation))) return false;
    }
    plan.iterations = extent.iterations;
    plan.grows = false;
    return true;
  }

  /// In the midst of work that is never idle: false when the peer has gone.
  bool goes_on(Wait wait, std::uint64_t message) noexcept {
    if (!watch_.interrupted()) return true;
    result_.message = message;
    return end(Outcome::interrupted, wait);
  }

  bool end(Outcome outcome, Wait wait) noexcept {
    if (result_.outcome == Outcome::ok) {
      result_.outcome = outcome;
      result_.wait = wait;
    }
    return false;
  }

 private:
  /// Apart, so that post() stays small enough for the compiler to take it into the loop.
  [[gnu::noinline]] bool post_failed(std::uint64_t bytes) noexcept {
    result_.posted = bytes;
    return end(Outcome::post_failed, Wait::nothing);
  }

  template <class OnReceive>
  bool look(Wait wait, OnReceive&& on_receive, bool may_sleep) noexcept {
    const int seen = endpoint_.poll(on_receive);
    if (seen > 0) [[likely]] {
      watch_.progress();
      return held_.empty() ? true : give_back_held();
    }
    return seen == 0 ? unoccupied(wait, may_sleep) : end(Outcome::completion_failed, wait);
  }

  auto on_marker(bool& whole) noexcept {
    return [this, &whole](const transport::Received& received) noexcept {
      if (received.bytes != 0) whole = end(Outcome::wrong_size, Wait::confirmation);
      marker_ = true;
      give_back(received.slot);
    };
  }

  /// After an empty poll.
  bool unoccupied(Wait wait, bool may_sleep) noexcept {
    constexpr auto kLongestSleep = std::chrono::milliseconds(10);
    if (watch_.give_up()) return end(watch_.outcome(), wait);
    if (!held_.empty()) return give_back_held();
    if (may_sleep && !endpoint_.wait_for_event(kLongestSleep))
      return end(Outcome::completion_failed, wait);
    return true;
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
  bool marker_ = false;
};

}  // namespace rdmabench::inline v1::workload

// Loop endpoints that can be told to misbehave, as a broken fabric or a broken peer would.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "rdmabench/transport/loop/endpoint.h"

namespace rdmabench::inline v1::workload {

/// kIsReliable false: the loops take it for a transport that loses messages without a word.
template <class Base, bool kIsReliable>
class Faulty : public Base {
 public:
  using Base::Base;
  static constexpr bool kReliable = kIsReliable;
  /// What loses messages has neither reads nor atomics, as UC.
  template <class Op>
  static constexpr bool supports = Base::template supports<Op> &&
                                   (kIsReliable || !(Op::kFromTarget || Op::kExtended));

  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  std::uint64_t wrong_immediate_at = kNever;  ///< that post carries another immediate
  std::uint64_t wrong_byte_at = kNever;       ///< that post's first byte is flipped
  std::uint64_t lose_at = kNever;             ///< that post is counted and never delivered
  std::uint64_t lose_every = kNever;          ///< so is every so-many-th
  std::uint64_t double_at = kNever;           ///< that post arrives twice
  std::uint64_t fail_post_at = kNever;
  std::uint64_t lose_data_at = kNever;  ///< that post arrives, and its data does not
  std::uint64_t cut_bytes = 0;          ///< so much shorter is every message that arrives here
  std::uint64_t fail_poll_at = kNever;  ///< that poll fails, and all after it
  int busy_posts = 0;                   ///< so many posts are refused first
  int busy_receives = 0;                ///< so many receives are refused first
  int lost_markers = 0;                 ///< so many markers are counted and never delivered
  std::uint64_t stall_at = kNever;      ///< at that poll this side stops for stall_time
  std::chrono::milliseconds stall_time{20};
  const Faulty* stall_for = nullptr;  ///< the stall ends when that side waited for an event
  std::chrono::milliseconds nap{0};   ///< wait_for_event() sleeps so long
  bool fail_rest = false;
  bool never_completes = false;  ///< as where the peer's processor is needed, and asleep

  std::byte* peer_window = nullptr;  ///< for lose_data_at
  std::uint64_t peer_bytes = 0;
  std::uint64_t polls = 0;
  std::atomic<std::uint64_t> rests = 0;

  template <class Op>
  transport::PostStatus post(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                             std::uint64_t word, transport::Signal signal,
                             std::uint32_t queue_pair = 0) noexcept {
    if (bytes == 0) {
      if (lost_markers == 0) return Base::template post<Op>(0, 0, 0, 0, signal);
      const transport::PostStatus status = lose(0, 0, signal, 0);
      if (status == transport::PostStatus::posted) --lost_markers;
      return status;
    }
    if (busy_posts > 0) {
      --busy_posts;
      return transport::PostStatus::busy;
    }
    const std::uint64_t i = posts_;
    if (i == fail_post_at) return transport::PostStatus::failed;
    if (i == lose_at || (i + 1) % lose_every == 0) {
      const transport::PostStatus status = lose(local, bytes, signal, queue_pair);
      if (status == transport::PostStatus::posted) ++posts_;
      return status;
    }
    if (i == wrong_immediate_at) ++word;
    if (i == wrong_byte_at) this->send_region().data[local] ^= std::byte{1};
    const auto landed = i == lose_data_at ? std::span<std::byte>(peer_window + remote, peer_bytes)
                                          : std::span<std::byte>();
    const std::vector<std::byte> before(landed.begin(), landed.end());
    const transport::PostStatus status =
        Base::template post<Op>(local, remote, bytes, word, signal, queue_pair);
    std::copy(before.begin(), before.end(), landed.begin());
    if (status == transport::PostStatus::posted) {
      ++posts_;
    } else if (i == wrong_byte_at) {
      this->send_region().data[local] ^= std::byte{1};
    }
    if (i == double_at && status == transport::PostStatus::posted) {
      while (Base::template post<Op>(local, remote, bytes, word, signal, queue_pair) ==
             transport::PostStatus::busy) {
        std::this_thread::yield();
      }
    }
    return status;
  }

  template <class Op>
  transport::PostStatus post_list(std::span<const transport::Message> messages,
                                  transport::Signal signal, std::uint32_t queue_pair = 0) noexcept {
    if (busy_posts > 0) {
      --busy_posts;
      return transport::PostStatus::busy;
    }
    const auto within = [&](std::uint64_t at) {
      return at >= posts_ && at - posts_ < messages.size();
    };
    if (within(fail_post_at)) return transport::PostStatus::failed;
    std::byte* flipped = nullptr;
    if (within(wrong_byte_at)) {
      flipped = this->send_region().data + messages[wrong_byte_at - posts_].local;
      *flipped ^= std::byte{1};
    }
    const transport::PostStatus status = Base::template post_list<Op>(messages, signal, queue_pair);
    if (status == transport::PostStatus::posted) {
      posts_ += messages.size();
      ++lists_;
    } else if (flipped) {
      *flipped ^= std::byte{1};
    }
    return status;
  }

  transport::PostStatus post_receive(std::uint32_t slot) noexcept {
    if (busy_receives == 0) return Base::post_receive(slot);
    --busy_receives;
    return transport::PostStatus::busy;
  }

  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
    if (polls++ == stall_at) stall();
    if (polls > fail_poll_at) return -1;
    return Base::poll([&](const transport::Received& received) noexcept {
      transport::Received cut = received;
      cut.bytes -= std::min(cut_bytes, cut.bytes);
      on_receive(cut);
    });
  }

  bool wait_for_event(std::chrono::milliseconds at_most) noexcept {
    ++rests;
    if (nap.count() > 0) std::this_thread::sleep_for(std::min(nap, at_most));
    return !fail_rest;
  }

  std::uint64_t completed() const noexcept { return never_completes ? 0 : Base::completed(); }
  std::uint64_t lists() const noexcept { return lists_; }

 private:
  void stall() const noexcept {
    const auto end = std::chrono::steady_clock::now() + stall_time;
    while (std::chrono::steady_clock::now() < end && !(stall_for && stall_for->rests > 0))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  /// A read in its place: it completes as a message would that is lost on the way, and the peer
  /// does not see it.
  transport::PostStatus lose(std::uint64_t offset, std::uint64_t bytes, transport::Signal signal,
                             std::uint32_t queue_pair) noexcept {
    return Base::template post<transport::Read>(offset, offset, bytes, 0, signal, queue_pair);
  }

  std::uint64_t posts_ = 0;
  std::uint64_t lists_ = 0;
};

using FaultyEndpoint = Faulty<transport::loop::Endpoint, true>;
using FaultyQueuePairs = Faulty<transport::loop::ManyEndpoint, true>;
using LossyEndpoint = Faulty<transport::loop::Endpoint, false>;

}  // namespace rdmabench::inline v1::workload

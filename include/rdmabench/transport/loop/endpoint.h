// loop: two endpoints of one process that copy into each other's memory.
//
// It behaves as reliable connected queue pairs do: ordered on each queue pair, one receive consumed
// per send and per write with immediate, `busy` where a NIC would answer "receiver not ready". It
// exists to test the loops and to measure what rdmabench itself costs; its figures say nothing
// about a network.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::loop {

/// A bounded queue between exactly two threads: one pushes, one pops. Capacity is rounded up to a
/// power of two. push() and pop() never block and never allocate. Thread rule: one producer thread,
/// one consumer thread.
template <class T>
class Ring {  // padding keeps the indices apart
 public:
  explicit Ring(std::uint32_t capacity) : entries_(std::bit_ceil(capacity)) {}

  bool push(const T& value) noexcept {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == entries_.size()) return false;
    entries_[tail & mask()] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  bool pop(T& value) noexcept {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    value = entries_[head & mask()];
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  /// For the consumer: so many can be popped, and perhaps more.
  std::uint32_t available() const noexcept {
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_relaxed);
  }

 private:
  std::uint32_t mask() const noexcept { return static_cast<std::uint32_t>(entries_.size() - 1); }

  std::vector<T> entries_;
  // Each index has one writer; a cache line apart, so that the two threads do not share one.
  alignas(64) std::atomic<std::uint32_t> head_{0};
  alignas(64) std::atomic<std::uint32_t> tail_{0};
};

/// The two queues between two endpoints on one queue pair.
struct QueuePairPort {
  explicit QueuePairPort(std::uint32_t receives_posted)
      : receives(receives_posted), arrivals(receives_posted) {}

  Ring<std::uint32_t> receives;  ///< receive slots, owner -> peer
  Ring<Received> arrivals;  ///< completed receives, peer -> owner; never full: each used a receive
};

/// What a peer may touch of an endpoint: its memory, and the queue pairs to it.
struct Port {
  explicit Port(const EndpointRequest& request);

  memory::Buffer receive_memory;
  memory::Buffer window_memory;
  Region receive_region;
  Region window;
  std::uint64_t bytes;                        ///< of the window
  std::vector<std::span<std::byte>> regions;  ///< the first is the window
  std::vector<std::unique_ptr<QueuePairPort>> queue_pairs;
};

/// What has been posted on one queue pair, and how much of it has completed.
struct QueuePairCount {
  std::uint64_t posted = 0;
  std::uint64_t signalled = 0;  ///< posts that a coming poll completes
  std::uint64_t completed = 0;
  std::uint32_t until_signal = 1;
};

/// All that does not depend on the number of queue pairs at compile time. See EndpointOf.
class EndpointBase {
 public:
  EndpointBase& operator=(EndpointBase&&) = delete;

  std::string address() const;
  /// Throws Error(failed) when no endpoint of this process has that address.
  void connect(std::string_view peer_address);
  Description describe(std::uint64_t bytes = 0) const;
  std::string failure() const {
    return "a post of an operation, a length or a list that the endpoint was not opened for, or "
           "outside of this side's memory or the peer's";
  }
  std::uint64_t peer_window_bytes() const noexcept { return peer_->bytes; }
  std::uint64_t peer_region_bytes(RegionId region) const noexcept {
    return region < peer_->regions.size() ? peer_->regions[region].size() : 0;
  }
  WriteOrder write_order() const noexcept { return {.bytes = max_size_, .promised = true}; }
  Region send_region() const noexcept { return send_region_; }
  Region receive_region() const noexcept { return port_->receive_region; }
  Region window() const noexcept { return port_->window; }

 protected:
  /// Whether a message lies within both sides' memory: here nobody but us keeps one from writing
  /// over the rest of the process.
  template <class Op>
  bool allowed(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes) const noexcept {
    if (!permits(operations_, max_size_, Op::kCode, bytes)) return false;
    if (!lies_within(local, bytes, send_bytes_)) return false;
    if constexpr (Op::kTwoSided) return bytes <= peer_->receive_region.stride;
    return lies_within(remote, bytes, peer_->bytes);
  }

  template <class Op>
  bool allowed(const Message& message) const noexcept {
    return allowed<Op>(message.local, message.remote, message.bytes);
  }

  template <class Op>
  bool allowed(const RegionMessage& message) const noexcept {
    const auto [local, remote, local_at, remote_at, bytes, word] = message;
    if (!permits(operations_, max_size_, Op::kCode, bytes)) return false;
    if (local >= regions_.size() || !lies_within(local_at, bytes, regions_[local].size()))
      return false;
    if constexpr (Op::kTwoSided) return bytes <= peer_->receive_region.stride;
    return remote < peer_->regions.size() &&
           lies_within(remote_at, bytes, peer_->regions[remote].size());
  }

  EndpointBase(const EndpointRequest& request, bool many_queue_pairs);
  ~EndpointBase();

  std::string id_;
  std::shared_ptr<Port> port_;
  std::shared_ptr<Port> peer_;
  memory::Buffer send_memory_;
  Region send_region_;
  std::uint64_t send_bytes_;                   ///< of the send region
  std::vector<std::span<std::byte>> regions_;  ///< the first is the send region
  OperationSet operations_;
  bool brings_memory_;  ///< the caller does
  std::uint32_t depth_;
  std::uint32_t receives_;
  std::uint64_t max_size_;
  std::uint32_t longest_list_;
  std::uint32_t signal_every_;
  std::vector<QueuePairCount> counts_;
};

/// See transport.h for the contract. One thread drives an endpoint; its peer may be driven by
/// another. With several queue pairs, arrivals and completions of different queue pairs come in no
/// order.
template <bool kMany>
class EndpointOf : public EndpointBase {
 public:
  static constexpr bool kReliable = true;
  static constexpr bool kManyQueuePairs = kMany;
  static constexpr bool kPostLists = true;
  static constexpr bool kOrdersMessages = !kMany;
  static constexpr bool kNeedsProgress = false;
  template <class Op>
  static constexpr bool supports = true;
  template <class Op>
  static constexpr bool consumes_receive = Op::kNotifies;

  /// Throws Error(usage) for what a copy between two threads cannot be asked for: another service
  /// than RC, sleeping, scattered messages, and more than one queue pair where !kMany.
  EndpointOf(const EndpointRequest& request, std::string_view /*choice*/)
      : EndpointBase(request, kMany) {}

  template <class Op>
  PostStatus post(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                  std::uint64_t word, Signal signal, std::uint32_t queue_pair = 0) noexcept {
    QueuePairCount& count = counts_[index(queue_pair)];
    if (count.posted - count.completed >= depth_) return PostStatus::busy;
    if (!allowed<Op>(local, remote, bytes)) [[unlikely]]
      return PostStatus::failed;
    return move<Op>(send_region_.data + local, peer_->window.data + remote, bytes, word, signal,
                    queue_pair);
  }

  template <class Op>
  PostStatus post(const RegionMessage& message, Signal signal,
                  std::uint32_t queue_pair = 0) noexcept {
    const QueuePairCount& count = counts_[index(queue_pair)];
    if (count.posted - count.completed >= depth_) return PostStatus::busy;
    if (!allowed<Op>(message)) return PostStatus::failed;
    std::byte* there = nullptr;
    if constexpr (!Op::kTwoSided) there = peer_->regions[message.remote].data() + message.remote_at;
    return move<Op>(regions_[message.local].data() + message.local_at, there, message.bytes,
                    message.word, signal, queue_pair);
  }

  template <class Op>
  PostStatus post_list(std::span<const Message> messages, Signal signal,
                       std::uint32_t queue_pair = 0) noexcept {
    return post_all<Op>(messages, signal, queue_pair);
  }

  template <class Op>
  PostStatus post_list(std::span<const RegionMessage> messages, Signal signal,
                       std::uint32_t queue_pair = 0) noexcept {
    return post_all<Op>(messages, signal, queue_pair);
  }

  PostStatus post_receive(std::uint32_t slot) noexcept {
    QueuePairPort& queue_pair = *port_->queue_pairs[kMany ? slot / receives_ : 0];
    return queue_pair.receives.push(slot) ? PostStatus::posted : PostStatus::busy;
  }

  /// One queue pair's completions a poll, and the queue pairs' arrivals from another one on each
  /// time: what holds here does not rest on an order between queue pairs.
  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
    if constexpr (kMany) turn_ = turn_ + 1 == queue_pairs() ? 0 : turn_ + 1;
    QueuePairCount& count = counts_[turn_];
    int seen = count.completed != count.signalled ? 1 : 0;
    completed_ += count.signalled - count.completed;
    count.completed = count.signalled;
    for (std::uint32_t i = 0; i < (kMany ? queue_pairs() : 1); ++i) {
      QueuePairPort& queue_pair = *port_->queue_pairs[kMany ? (turn_ + i) % queue_pairs() : 0];
      Received received{};
      while (queue_pair.arrivals.pop(received)) {
        on_receive(received);
        ++seen;
      }
    }
    return seen;
  }

  bool wait_for_event(std::chrono::milliseconds /*at_most*/) const noexcept { return true; }
  std::uint32_t queue_pairs() const noexcept {
    return kMany ? static_cast<std::uint32_t>(counts_.size()) : 1;
  }
  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t completed() const noexcept { return completed_; }

 private:
  static std::uint32_t index(std::uint32_t queue_pair) noexcept { return kMany ? queue_pair : 0; }

  /// Does what a post says, with its bytes at `here` and at `there` in the peer's memory.
  template <class Op>
  [[gnu::always_inline]] PostStatus move(std::byte* here, std::byte* there, std::uint64_t bytes,
                                         std::uint64_t word, Signal signal,
                                         std::uint32_t queue_pair) noexcept {
    if constexpr (Op::kAtomic) {
      std::uint64_t before = word;
      auto& counter = *reinterpret_cast<std::uint64_t*>(there);
      if constexpr (Op::kCode == OperationCode::fetch_add) {
        before = std::atomic_ref(counter).fetch_add(1);
      } else {
        static_assert(Op::kCode == OperationCode::compare_swap, "a branch for this atomic");
        std::atomic_ref(counter).compare_exchange_strong(before, word + 1);
      }
      std::memcpy(here, &before, sizeof before);
    } else if constexpr (Op::kNotifies) {
      QueuePairPort& to = *peer_->queue_pairs[index(queue_pair)];
      std::uint32_t slot = 0;
      if (!to.receives.pop(slot)) return PostStatus::busy;
      copy(Op::kTwoSided ? peer_slot(slot) : there, here, bytes);
      to.arrivals.push({slot, Op::kImmediate ? static_cast<std::uint32_t>(word) : 0, bytes});
    } else if constexpr (Op::kFromTarget) {
      std::memcpy(here, there, bytes);
    } else if constexpr (Op::kFlushes) {
      // What was copied can be read by all.
    } else if constexpr (Op::kCode == OperationCode::atomic_write) {
      std::memcpy(&word, here, sizeof word);
      std::atomic_ref(*reinterpret_cast<std::uint64_t*>(there))
          .store(word, std::memory_order_release);
    } else {
      copy(there, here, bytes);
    }
    return counted(counts_[index(queue_pair)], signal);
  }

  template <class Op, class M>
  PostStatus post_all(std::span<const M> messages, Signal signal,
                      std::uint32_t queue_pair) noexcept {
    if (messages.size() > longest_list_) return PostStatus::failed;
    const QueuePairCount& count = counts_[index(queue_pair)];
    if (count.posted - count.completed + messages.size() > depth_) return PostStatus::busy;
    if (Op::kNotifies &&
        peer_->queue_pairs[index(queue_pair)]->receives.available() < messages.size()) {
      return PostStatus::busy;
    }
    for (const M& message : messages) {
      if (!allowed<Op>(message)) return PostStatus::failed;
    }
    for (const M& message : messages) {
      const Signal ask = &message == &messages.back() ? signal : Signal::by_interval;
      if constexpr (std::is_same_v<M, Message>) {
        post<Op>(message.local, message.remote, message.bytes, message.word, ask, queue_pair);
      } else {
        post<Op>(message, ask, queue_pair);
      }
    }
    return PostStatus::posted;
  }

  /// A completion stands for all posts of its queue pair before it, as on a queue pair with
  /// selective signalling.
  PostStatus counted(QueuePairCount& count, Signal signal) noexcept {
    ++posted_;
    ++count.posted;
    if (signal == Signal::now || --count.until_signal == 0) {
      count.signalled = count.posted;
      count.until_signal = signal_every_;
    }
    return PostStatus::posted;
  }

  std::byte* peer_slot(std::uint32_t slot) const noexcept {
    const Region& region = peer_->receive_region;
    return region.data + slot % region.slots * region.stride;
  }

  /// The last byte goes last and releases the others, because a peer may be polling it.
  static void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
    if (bytes == 0) return;
    std::memcpy(to, from, bytes - 1);
    std::atomic_ref(to[bytes - 1]).store(from[bytes - 1], std::memory_order_release);
  }

  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint32_t turn_ = 0;
};

using Endpoint = EndpointOf<false>;
using ManyEndpoint = EndpointOf<true>;

/// Calls visitor(std::type_identity<E>()) with the endpoint type E that a request gets.
template <class Visitor>
auto with_endpoint_type(const EndpointRequest& request, Visitor&& visitor) {
  if (request.options.queue_pairs > 1) return visitor(std::type_identity<ManyEndpoint>());
  return visitor(std::type_identity<Endpoint>());
}

}  // namespace rdmabench::inline v1::transport::loop

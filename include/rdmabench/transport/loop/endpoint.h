// loop: two endpoints of one process that copy into each other's memory.
//
// It behaves as a reliable connected queue pair does: ordered, one receive consumed per send and
// per write with immediate, `busy` where a NIC would answer "receiver not ready". It exists to test
// the loops and to measure what rdmabench itself costs; its figures say nothing about a network.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/loop/ring.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::transport::loop {

/// What a peer may touch of an endpoint: its memory and the two queues between them.
struct Port {
  explicit Port(const EndpointRequest& request);

  memory::Buffer receive_memory;
  memory::Buffer window_memory;
  Region receive_region;
  Region window;
  Ring<std::uint32_t> receives;  ///< receive slots, owner -> peer
  Ring<Received> arrivals;  ///< completed receives, peer -> owner; never full: each used a receive
};

/// See transport.h for the contract. One thread drives an endpoint; its peer may be driven by
/// another.
class Endpoint {
 public:
  static constexpr bool kReliable = true;
  static constexpr bool kManyLanes = false;
  static constexpr bool kPostLists = false;
  static constexpr bool kOrdersWrites = true;
  static constexpr bool kOrdersMessages = true;
  static constexpr bool kNeedsProgress = false;
  template <class Op>
  static constexpr bool supports = true;
  template <class Op>
  static constexpr bool consumes_receive = Op::kNotifies;

  Endpoint(const EndpointRequest& request, std::string_view choice);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  std::string address() const;
  /// Throws Error(failed) when no endpoint of this process has that address.
  void connect(std::string_view peer_address);
  void prepare(OperationCode code, std::uint64_t size);
  Description describe() const;
  std::string failure() const { return "the loop back end cannot fail"; }

  template <class Op>
  PostStatus post(std::uint64_t offset, std::uint64_t word, Signal signal,
                  std::uint32_t /*lane*/ = 0) noexcept {
    if (posted_ - completed_ >= depth_) return PostStatus::busy;
    std::byte* local = send_region_.data + offset;
    if constexpr (Op::kAtomic) {
      std::uint64_t before = word;
      auto& counter = *reinterpret_cast<std::uint64_t*>(peer_->window.data + offset);
      if constexpr (Op::kCode == OperationCode::fetch_add) {
        before = std::atomic_ref(counter).fetch_add(1);
      } else {
        std::atomic_ref(counter).compare_exchange_strong(before, word + 1);
      }
      std::memcpy(local, &before, sizeof before);
    } else if constexpr (Op::kNotifies) {
      std::uint32_t slot = 0;
      if (!peer_->receives.pop(slot)) return PostStatus::busy;
      copy(Op::kTwoSided ? peer_slot(slot) : peer_->window.data + offset, local);
      peer_->arrivals.push({slot, Op::kImmediate ? static_cast<std::uint32_t>(word) : 0, size_});
    } else if constexpr (Op::kFromTarget) {
      std::memcpy(local, peer_->window.data + offset, size_);
    } else {
      copy(peer_->window.data + offset, local);
    }
    return count(signal);
  }

  PostStatus post_token(Signal signal) noexcept {
    std::uint32_t slot = 0;
    if (!peer_->receives.pop(slot)) return PostStatus::busy;
    peer_->arrivals.push({slot, 0, 0});
    return count(signal);
  }

  PostStatus post_receive(std::uint32_t slot) noexcept {
    return port_->receives.push(slot) ? PostStatus::posted : PostStatus::busy;
  }

  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
    int seen = completed_ != signalled_ ? 1 : 0;
    completed_ = signalled_;
    Received received{};
    while (port_->arrivals.pop(received)) {
      on_receive(received);
      ++seen;
    }
    return seen;
  }

  bool rest(std::chrono::milliseconds /*at_most*/) const noexcept { return true; }
  std::uint32_t lanes() const noexcept { return 1; }
  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t completed() const noexcept { return completed_; }
  Region send_region() const noexcept { return send_region_; }
  Region receive_region() const noexcept { return port_->receive_region; }
  Region window() const noexcept { return port_->window; }

 private:
  /// A completion stands for all posts before it, as on a queue pair with selective signalling.
  PostStatus count(Signal signal) noexcept {
    ++posted_;
    if (signal == Signal::now || --until_signal_ == 0) {
      signalled_ = posted_;
      until_signal_ = signal_every_;
    }
    return PostStatus::posted;
  }

  std::byte* peer_slot(std::uint32_t slot) const noexcept {
    const Region& region = peer_->receive_region;
    return region.data + slot % region.slots * region.stride;
  }

  /// The last byte goes last and releases the others, because a peer may be polling it.
  void copy(std::byte* to, const std::byte* from) const noexcept {
    std::memcpy(to, from, size_ - 1);
    std::atomic_ref(to[size_ - 1]).store(from[size_ - 1], std::memory_order_release);
  }

  std::string id_;
  std::shared_ptr<Port> port_;
  std::shared_ptr<Port> peer_;
  memory::Buffer send_memory_;
  Region send_region_;
  std::uint32_t depth_;
  std::uint32_t receives_;
  std::uint64_t max_size_;
  std::uint64_t size_ = 1;
  std::uint64_t posted_ = 0;
  std::uint64_t signalled_ = 0;  ///< posts that the next poll completes
  std::uint64_t completed_ = 0;
  std::uint32_t signal_every_;
  std::uint32_t until_signal_;
};

}  // namespace rdmabench::transport::loop

// ofi: reliable endpoints of libfabric, as datagrams (rdm) or connected (msg). One code path for
// every provider: what differs between them is read from the attributes that fi_getinfo returns,
// never from a provider's name.
//
// Every provider is treated as if it made progress only in poll(): some that announce automatic
// progress stall without it. Nothing here relies on the order of writes or of messages, because
// efa, cxi and shm promise none; the signal of a write is its remote completion data.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "rdmabench/transport/ofi/objects.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::ofi {

/// See transport.h for the contract. An endpoint has a fabric and a domain of its own, so that
/// endpoints in different threads share no lock; its queue pairs share that domain and one
/// completion queue. One thread drives an endpoint at a time.
///
/// kMany: of several queue pairs, or one that sleeps; the other form has the shorter code path.
template <bool kMany>
class EndpointOf : private Objects {
 public:
  static constexpr bool kReliable = true;
  static constexpr bool kManyQueuePairs = kMany;
  static constexpr bool kPostLists = false;
  static constexpr bool kOrdersMessages = false;
  static constexpr bool kNeedsProgress = true;
  template <class Op>
  static constexpr bool supports = !Op::kExtended;
  template <class Op>
  static constexpr bool consumes_receive =
      Op::kTwoSided;  // remote completion data comes without one

  /// `choice` is one side of choose()'s answer. Throws Error(failed) when this machine does not
  /// have what was chosen, Error(usage) for a size or a depth beyond the provider's limits, which
  /// it names, and Error(unavailable) for what the provider cannot do.
  EndpointOf(const EndpointRequest& request, std::string_view choice) : Objects(request, choice) {}
  EndpointOf& operator=(EndpointOf&&) = delete;

  using Objects::address;
  /// Throws Error(failed) for text that is not an address, or one of another provider, protocol,
  /// API version or window; with msg also when the other side does not connect within
  /// EndpointRequest::timeout. Both sides must connect: some providers take a write only from a
  /// peer they know.
  using Objects::connect;
  using Objects::describe;
  using Objects::failed_call;
  using Objects::failure;
  using Objects::peer_region_bytes;
  using Objects::peer_window_bytes;
  /// A provider may deliver the packets of a write by messages of its own, in any order.
  static WriteOrder write_order() noexcept { return {}; }

  template <class Op>
  PostStatus post(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                  std::uint64_t word, Signal /*signal*/, std::uint32_t queue_pair = 0) noexcept {
    const std::uint32_t index = kMany ? queue_pair : 0;
    if (!permits(operations_, max_size_, Op::kCode, bytes)) [[unlikely]]
      return refused_ = true, PostStatus::failed;
    if constexpr (Op::kNotifies) {
      // An injected message gives no completion. One of 0 bytes is a marker: its completion says
      // that the peer's endpoint has it.
      if (bytes - 1 < inject_limit_) return injected(inject<Op>(index, local, remote, bytes, word));
    }
    if (contexts_[index].empty()) return PostStatus::busy;
    return started(index, initiate<Op>(index, local, remote, bytes, word));
  }

  template <class Op>
  PostStatus post(const RegionMessage& message, Signal signal,
                  std::uint32_t queue_pair = 0) noexcept {
    if (!has_regions(message, Op::kTwoSided)) return refused_ = true, PostStatus::failed;
    const Ends first = std::exchange(ends_, ends_of(message, Op::kTwoSided));
    const PostStatus status = post<Op>(message.local_at, message.remote_at, message.bytes,
                                       message.word, signal, queue_pair);
    ends_ = first;
    return status;
  }

  /// After `busy` the slot still belongs to the caller: poll, then give it back again.
  PostStatus post_receive(std::uint32_t slot) noexcept { return status(receive_into(slot)); }

  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
    std::array<fi_cq_data_entry, kBatch> entries;
    const ssize_t count = fi_cq_read(cq_.get(), entries.data(), entries.size());
    if (count < 0) return count == -FI_EAGAIN ? 0 : poll_failed(count);
    for (ssize_t i = 0; i < count; ++i) take(entries[static_cast<std::size_t>(i)], on_receive);
    return reposts_failed_ ? -1 : static_cast<int>(count);
  }

  bool wait_for_event(std::chrono::milliseconds at_most) noexcept {
    if constexpr (kMany) {
      return wait_fd_ < 0 || sleep(at_most);
    } else {
      return true;
    }
  }

  std::uint32_t queue_pairs() const noexcept {
    return kMany ? static_cast<std::uint32_t>(queue_pairs_.size()) : 1;
  }
  std::uint64_t posted() const noexcept { return posted_; }
  /// Counts operations, not which of them: providers complete out of order.
  std::uint64_t completed() const noexcept {
    const std::uint64_t under_way = kMany ? outstanding_ : contexts_[0].in_use();
    return posted_ - std::min<std::uint64_t>(posted_, under_way);
  }
  Region send_region() const noexcept { return send_region_; }
  Region receive_region() const noexcept { return receive_region_; }
  Region window() const noexcept { return window_region_; }
  const memory::Buffer& send_memory() const noexcept { return send_memory_; }
  const memory::Buffer& receive_memory() const noexcept { return receive_memory_; }
  const memory::Buffer& window_memory() const noexcept { return window_memory_; }

  /// How often the provider said "again" since the endpoint was opened. The first traffic to a peer
  /// may give thousands, while the provider connects.
  std::uint64_t retries() const noexcept { return retries_; }

 private:
  static constexpr std::size_t kBatch = 16;

  template <class Op>
  ssize_t inject(std::uint32_t index, std::uint64_t local, std::uint64_t remote,
                 std::uint64_t bytes, std::uint64_t word) noexcept {
    const QueuePair& queue_pair = queue_pairs_[index];
    const std::byte* const data = ends_.data + local;
    const auto immediate = static_cast<std::uint32_t>(word);
    if constexpr (Op::kTwoSided && Op::kImmediate) {
      return fi_injectdata(queue_pair.ep.get(), data, bytes, immediate, queue_pair.peer);
    } else if constexpr (Op::kImmediate) {
      return fi_inject_writedata(queue_pair.ep.get(), data, bytes, immediate, queue_pair.peer,
                                 ends_.remote_base + remote, ends_.remote_key);
    } else {
      return fi_inject(queue_pair.ep.get(), data, bytes, queue_pair.peer);
    }
  }

  template <class Op>
  ssize_t initiate(std::uint32_t index, std::uint64_t local, std::uint64_t remote,
                   std::uint64_t bytes, std::uint64_t word) noexcept {
    const QueuePair& queue_pair = queue_pairs_[index];
    std::byte* const data = ends_.data + local;
    Context* context = contexts_[index].top();
    if constexpr (Op::kAtomic) {
      return initiate_atomic<Op>(queue_pair, context, data, remote, word);
    } else if constexpr (Op::kTwoSided && Op::kImmediate) {
      return fi_senddata(queue_pair.ep.get(), data, bytes, ends_.descriptor,
                         static_cast<std::uint32_t>(word), queue_pair.peer, context);
    } else if constexpr (Op::kTwoSided) {
      if (bytes == 0) return send_marker(queue_pair, context);
      return fi_send(queue_pair.ep.get(), data, bytes, ends_.descriptor, queue_pair.peer, context);
    } else if constexpr (Op::kFromTarget) {
      return fi_read(queue_pair.ep.get(), data, bytes, ends_.descriptor, queue_pair.peer,
                     ends_.remote_base + remote, ends_.remote_key, context);
    } else {
      return write<Op>(queue_pair, context, data, remote, bytes, word);
    }
  }

  /// Its completion says that the peer's endpoint has it, so that this side may close: it is not at
  /// the level of the writes, which shm of 1.17 never completes for an empty message.
  ssize_t send_marker(const QueuePair& queue_pair, Context* context) noexcept {
    const iovec nothing{ends_.data, 0};
    fi_msg marker{};
    marker.msg_iov = &nothing;
    marker.desc = &ends_.descriptor;
    marker.iov_count = 1;  // none at all is read as one by udp;ofi_rxd
    marker.addr = queue_pair.peer;
    marker.context = context;
    return fi_sendmsg(queue_pair.ep.get(), &marker, FI_COMPLETION | FI_TRANSMIT_COMPLETE);
  }

  /// With the completion level in the call: tcp and net of 1.17 do not look at the endpoint's, and
  /// what had only left could then be overtaken by a marker on another queue pair.
  template <class Op>
  ssize_t write(const QueuePair& queue_pair, Context* context, std::byte* data,
                std::uint64_t remote, std::uint64_t bytes, std::uint64_t word) noexcept {
    const iovec piece{data, bytes};
    const fi_rma_iov target{ends_.remote_base + remote, bytes, ends_.remote_key};
    fi_msg_rma message{};
    message.msg_iov = &piece;
    message.desc = &ends_.descriptor;
    message.iov_count = 1;
    message.addr = queue_pair.peer;
    message.rma_iov = &target;
    message.rma_iov_count = 1;
    message.context = context;
    message.data = Op::kImmediate ? static_cast<std::uint32_t>(word) : 0;
    return fi_writemsg(queue_pair.ep.get(), &message,
                       write_flags_ | (Op::kImmediate ? FI_REMOTE_CQ_DATA : 0));
  }

  /// The operands stay the provider's until the completion, so each context has its own.
  template <class Op>
  ssize_t initiate_atomic(const QueuePair& queue_pair, Context* context, std::byte* result,
                          std::uint64_t remote, std::uint64_t word) noexcept {
    std::uint64_t* operands = context->operands;
    constexpr fi_op kOp = atomic_op(Op::kCode);
    if constexpr (!Op::kConditional) {
      static_assert(kOp == FI_SUM, "initiate_atomic(): what to add or store for this atomic");
      operands[0] = 1;
      return fi_fetch_atomic(queue_pair.ep.get(), operands, 1, operand_descriptor_, result,
                             ends_.descriptor, queue_pair.peer, ends_.remote_base + remote,
                             ends_.remote_key, FI_UINT64, kOp, context);
    } else {
      static_assert(kOp == FI_CSWAP,
                    "initiate_atomic(): what to compare and store for this atomic");
      operands[0] = word;
      operands[1] = word + 1;
      return fi_compare_atomic(queue_pair.ep.get(), operands + 1, 1, operand_descriptor_, operands,
                               operand_descriptor_, result, ends_.descriptor, queue_pair.peer,
                               ends_.remote_base + remote, ends_.remote_key, FI_UINT64, kOp,
                               context);
    }
  }

  PostStatus started(std::uint32_t index, ssize_t result) noexcept {
    if (result == 0) {
      contexts_[index].take();
      ++posted_;
      if constexpr (kMany) ++outstanding_;
    }
    return status(result);
  }

  /// An injected message gives no completion; its buffer is free again already (fi_msg.3).
  PostStatus injected(ssize_t result) noexcept {
    if (result == 0) ++posted_;
    return status(result);
  }

  PostStatus status(ssize_t result) noexcept {
    if (result == 0) return PostStatus::posted;
    if (result == -FI_EAGAIN) {
      ++retries_;
      return PostStatus::busy;
    }
    failure_code_ = static_cast<int>(-result);
    return PostStatus::failed;
  }

  /// The order of these tests matters, because providers disagree about the flags: shm of 2.1 gives
  /// the target of a write nothing but FI_REMOTE_CQ_DATA, and sockets sets that flag on the
  /// initiator's own completion too. A remote write's op_context is not ours.
  template <class OnReceive>
  void take(const fi_cq_data_entry& entry, OnReceive&& on_receive) noexcept {
    constexpr std::uint64_t kOwn = FI_SEND | FI_WRITE | FI_READ | FI_ATOMIC;
    if ((entry.flags & FI_RECV) != 0 && (entry.flags & FI_REMOTE_WRITE) == 0) {
      const auto* receive = static_cast<const ReceiveContext*>(entry.op_context);
      const bool immediate = (entry.flags & FI_REMOTE_CQ_DATA) != 0;
      on_receive(Received{receive->slot, immediate ? static_cast<std::uint32_t>(entry.data) : 0,
                          entry.len});
    } else if ((entry.flags & FI_REMOTE_WRITE) == 0 && (entry.flags & kOwn) != 0) {
      auto* context = static_cast<Context*>(entry.op_context);
      if constexpr (kMany) {
        contexts_[context->queue_pair].give_back(context);
        --outstanding_;
      } else {
        contexts_[0].give_back(context);
      }
    } else {
      if (writes_take_receives_) repost(entry.op_context);
      // The manual page of 1.17 promises a length for messages only; 0 would look like a marker.
      on_receive(Received{kNoSlot, static_cast<std::uint32_t>(entry.data),
                          entry.len != 0 ? entry.len : kUnknownLength});
    }
  }
};

extern template class EndpointOf<false>;
extern template class EndpointOf<true>;

using Endpoint = EndpointOf<false>;     ///< one queue pair, polled
using ManyEndpoint = EndpointOf<true>;  ///< many queue pairs, or events

/// Calls visitor(std::type_identity<E>()) with the endpoint type E that a request gets.
template <class Visitor>
auto with_endpoint_type(const EndpointRequest& request, Visitor&& visitor) {
  if (request.options.queue_pairs > 1 || request.options.events)
    return visitor(std::type_identity<ManyEndpoint>());
  return visitor(std::type_identity<Endpoint>());
}

}  // namespace rdmabench::inline v1::transport::ofi

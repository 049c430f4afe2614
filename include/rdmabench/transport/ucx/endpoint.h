// ucx: endpoints of UCX's protocol layer, UCP: messages, put, get and atomics. UCX chooses
// among its transports by itself (UCX_TLS, `ucx_tls`).
//
// A send or a put completes when its source may be used again, and an operation that completed
// within its call calls nobody back. Where more is promised, a flush follows. Messages and puts
// keep no order among each other. Source: ucp.h of UCX 1.13 to 1.22.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "rdmabench/transport/transport.h"
#include "rdmabench/transport/ucx/objects.h"

namespace rdmabench::inline v1::transport::ucx {

/// See transport.h for the contract. An endpoint has a context and a worker of its own, so that
/// endpoints in different threads share no lock; its queue pairs are UCX endpoints of that worker.
/// One thread drives an endpoint at a time.
///
/// kMany: of several queue pairs, or one that sleeps; the other form has the shorter code path.
/// kActive: sends alone, as active messages; else they are tagged.
template <bool kMany, bool kActive = false>
class EndpointOf : private Objects {
 public:
  static constexpr bool kReliable = true;
  static constexpr bool kManyQueuePairs = kMany;
  static constexpr bool kPostLists = true;
  static constexpr bool kOrdersMessages = false;
  static constexpr bool kNeedsProgress = true;
  /// UCX has no put that tells its target: a message behind one would be a second message.
  template <class Op>
  static constexpr bool supports = Op::kTwoSided || (!kActive && !Op::kExtended && !Op::kImmediate);
  template <class Op>
  static constexpr bool consumes_receive = Op::kNotifies;

  /// Throws Error(usage) for what cannot be asked for, Error(unavailable) where UCX is missing or
  /// lacks a transport for it, and Error(failed) where UCX fails.
  EndpointOf(const EndpointRequest& request, std::string_view choice) : Objects(request, choice) {}
  EndpointOf& operator=(EndpointOf&&) = delete;

  using Objects::address;
  /// Throws Error(failed) for text that is not an address, or one of another window; Error(failed)
  /// too where the operator of the server does not name UCX (`allow_providers`).
  using Objects::connect;
  using Objects::describe;
  using Objects::failed_call;
  using Objects::failure;
  using Objects::peer_region_bytes;
  using Objects::peer_window_bytes;
  /// Up to a word: a longer one may be copied from its end to its begin. It is not promised.
  WriteOrder write_order() const noexcept { return {.bytes = sizeof(std::uint64_t)}; }

  template <class Op>
  PostStatus post(std::uint64_t local, std::uint64_t remote, std::uint64_t bytes,
                  std::uint64_t word, Signal signal, std::uint32_t queue_pair = 0) noexcept {
    QueuePair& pair = queue_pairs_[kMany ? queue_pair : 0];
    if (!permits(operations_, max_size_, Op::kCode, bytes)) [[unlikely]]
      return refused_ = true, PostStatus::failed;
    if (pair.under_way >= depth_) return PostStatus::busy;
    return initiate<Op>(pair, local, remote, bytes, word, signal);
  }

  template <class Op>
  PostStatus post(const RegionMessage& message, Signal signal,
                  std::uint32_t queue_pair = 0) noexcept {
    return post_all<Op>(std::span(&message, 1), signal, queue_pair);
  }

  /// One call for each message: releases before 1.22 have no other way.
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

  /// UCX gets it with the next poll, so that an answer need not wait for that.
  PostStatus post_receive(std::uint32_t slot) noexcept {
    if constexpr (kActive) return receive_active(receives_[slot]);
    if (given_back_ == back_.size()) [[unlikely]]
      return refused_ = true, PostStatus::failed;
    back_[given_back_++] = &receives_[slot];
    return PostStatus::posted;
  }

  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
    if constexpr (!kActive) {
      if (given_back_ != 0) post_given_back();
    }
    calls_.progress(polled_);
    const std::uint64_t done = completed();  // may fall: a flush is under way
    auto seen = static_cast<int>(done > seen_ ? done - seen_ : 0);
    seen_ = done;
    while (arrivals_begin_ != arrivals_end_) {
      const Received received = arrivals_[arrivals_begin_++ & arrivals_mask_];
      on_receive(received);
      ++seen;
    }
    return failed_ == UCS_OK ? seen : -1;
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
  /// Counts operations, not which of them: UCX completes out of order.
  std::uint64_t completed() const noexcept { return posted_ - std::min(posted_, under_way_); }
  Region send_region() const noexcept { return send_region_; }
  Region receive_region() const noexcept { return receive_region_; }
  Region window() const noexcept { return window_region_; }

 private:
  template <class Op>
  [[gnu::always_inline]] PostStatus initiate(QueuePair& pair, std::uint64_t local,
                                             std::uint64_t remote, std::uint64_t bytes,
                                             std::uint64_t word, Signal signal) noexcept {
    static_assert(supports<Op>);
    std::byte* const data = pair.ends.data + local;
    ucs_status_ptr_t result = nullptr;
    if constexpr (Op::kAtomic) {
      result = atomic<Op>(pair, data, remote, word);
    } else if constexpr (Op::kTwoSided && kActive) {
      result = active<Op>(pair, data, bytes, word);
    } else if constexpr (Op::kTwoSided) {
      const ucp_tag_t tag = pair.tag | (Op::kImmediate ? static_cast<std::uint32_t>(word) : 0);
      result = calls_.tag_send(pair.ep, data, bytes, tag, &pair.param);
    } else if constexpr (Op::kFromTarget) {
      result = calls_.get(pair.ep, data, bytes, pair.ends.remote_base + remote,
                          pair.ends.remote_key, &pair.param);
    } else {
      result = calls_.put(pair.ep, data, bytes, pair.ends.remote_base + remote,
                          pair.ends.remote_key, &pair.param);
    }
    if (result != nullptr && !started(pair, result)) [[unlikely]]
      return PostStatus::failed;
    ++posted_;
    if constexpr (!Op::kTwoSided && !Op::kFromTarget) {
      // The last one says that all are in the peer's memory: a message may overtake them before.
      if (signal >= flushed_from_) return flush(pair);
    }
    return PostStatus::posted;
  }

  template <class Op>
  ucs_status_ptr_t atomic(QueuePair& pair, std::byte* data, std::uint64_t remote,
                          std::uint64_t word) noexcept {
    if constexpr (Op::kCode == OperationCode::fetch_add) {
      static constexpr std::uint64_t kOne = 1;
      pair.atomic.reply_buffer = data;
      return calls_.atomic(pair.ep, UCP_ATOMIC_OP_ADD, &kOne, 1, pair.ends.remote_base + remote,
                           pair.ends.remote_key, &pair.atomic);
    } else {
      static_assert(Op::kCode == OperationCode::compare_swap, "a branch for this atomic");
      std::uint64_t desired = word + 1;
      std::memcpy(data, &desired, sizeof desired);  // what is swapped in comes from there
      pair.borrowed.reply_buffer = data;
      return lend(pair, word, [&](const std::uint64_t* compared) {
        return calls_.atomic(pair.ep, UCP_ATOMIC_OP_CSWAP, compared, 1,
                             pair.ends.remote_base + remote, pair.ends.remote_key, &pair.borrowed);
      });
    }
  }

  template <class Op>
  ucs_status_ptr_t active(QueuePair& pair, const std::byte* data, std::uint64_t bytes,
                          std::uint64_t word) noexcept {
    if constexpr (Op::kImmediate) {
      pair.borrowed.memh = pair.param.memh;
      return lend(pair, pair.tag | static_cast<std::uint32_t>(word),
                  [&](const std::uint64_t* header) {
                    return calls_.active_send(pair.ep, kActiveId, header, sizeof *header, data,
                                              bytes, &pair.borrowed);
                  });
    } else {
      return calls_.active_send(pair.ep, kActiveId, &pair.tag, sizeof pair.tag, data, bytes,
                                &pair.param);
    }
  }

  /// Makes a call with a word that stays UCX's until the post has completed.
  template <class Call>
  static ucs_status_ptr_t lend(QueuePair& pair, std::uint64_t word, Call&& call) noexcept {
    Operand* const operand = pair.free_operands;
    operand->word = word;
    pair.borrowed.user_data = operand;
    void* const result = call(&operand->word);
    if (result != nullptr && !is_error(result)) pair.free_operands = operand->next;
    return result;
  }

  /// What did not complete within its call.
  bool started(QueuePair& pair, ucs_status_ptr_t result) noexcept {
    if (is_error(result)) [[unlikely]] {
      fail(result);
      return false;
    }
    ++pair.under_way;
    ++under_way_;
    return true;
  }

  PostStatus flush(QueuePair& pair) noexcept {
    void* const result = calls_.flush(pair.ep, &pair.flush);
    return result == nullptr || started(pair, result) ? PostStatus::posted : PostStatus::failed;
  }

  template <class Op>
  bool permitted(const Message& message) const noexcept {
    return permits(operations_, max_size_, Op::kCode, message.bytes);
  }
  template <class Op>
  bool permitted(const RegionMessage& message) const noexcept {
    return permits(operations_, max_size_, Op::kCode, message.bytes) &&
           has_regions(message, Op::kTwoSided);
  }

  template <class Op>
  PostStatus initiate(QueuePair& pair, const Message& message, Signal signal) noexcept {
    return initiate<Op>(pair, message.local, message.remote, message.bytes, message.word, signal);
  }

  template <class Op>
  PostStatus initiate(QueuePair& pair, const RegionMessage& message, Signal signal) noexcept {
    const Ends first = std::exchange(pair.ends, ends_of(pair, message, Op::kTwoSided));
    auto* const handle = std::exchange(pair.param.memh, regions_[message.local].handle);
    const PostStatus status = initiate<Op>(pair, message.local_at, message.remote_at, message.bytes,
                                           message.word, signal);
    pair.ends = first;
    pair.param.memh = handle;
    return status;
  }

  template <class Op, class M>
  PostStatus post_all(std::span<const M> messages, Signal signal,
                      std::uint32_t queue_pair) noexcept {
    QueuePair& pair = queue_pairs_[kMany ? queue_pair : 0];
    for (const M& message : messages) {
      if (!permitted<Op>(message)) return refused_ = true, PostStatus::failed;
    }
    if (messages.size() > longest_list_) return refused_ = true, PostStatus::failed;
    if (pair.under_way + messages.size() > depth_) return PostStatus::busy;
    for (const M& message : messages) {
      const Signal ask = &message == &messages.back() ? signal : Signal::by_interval;
      if (const PostStatus status = initiate<Op>(pair, message, ask);
          status != PostStatus::posted) {
        return status;
      }
    }
    return PostStatus::posted;
  }
};

extern template class EndpointOf<false>;
extern template class EndpointOf<true>;
extern template class EndpointOf<true, true>;

using Endpoint = EndpointOf<false>;             ///< one queue pair, polled
using ManyEndpoint = EndpointOf<true>;          ///< many queue pairs, or events
using ActiveEndpoint = EndpointOf<true, true>;  ///< active messages

/// Calls visitor(std::type_identity<E>()) with the endpoint type E that a request gets.
template <class Visitor>
auto with_endpoint_type(const EndpointRequest& request, Visitor&& visitor) {
  if (is_active(request)) return visitor(std::type_identity<ActiveEndpoint>());
  if (request.options.queue_pairs > 1 || request.options.events)
    return visitor(std::type_identity<ManyEndpoint>());
  return visitor(std::type_identity<Endpoint>());
}

}  // namespace rdmabench::inline v1::transport::ucx

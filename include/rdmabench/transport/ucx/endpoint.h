// ucx: endpoints of UCX's protocol layer, UCP: tagged messages, put, get and atomics. UCX chooses
// among its transports by itself (UCX_TLS, `ucx_tls`).
//
// A send or a put completes when its source may be used again, and an operation that completed
// within its call calls nobody back. Where more is promised, a flush follows. Messages and puts
// keep no order among each other. Source: ucp.h of UCX 1.13 to 1.22.
#pragma once

#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/base/handle.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::ucx {

/// What is called for each message, as the loader found it: a call costs what one of a linked
/// library does.
struct Calls {
  decltype(&ucp_tag_send_nbx) tag_send;
  decltype(&ucp_tag_recv_nbx) tag_receive;
  decltype(&ucp_put_nbx) put;
  decltype(&ucp_get_nbx) get;
  decltype(&ucp_atomic_op_nbx) atomic;
  decltype(&ucp_ep_flush_nbx) flush;
  decltype(&ucp_worker_progress) progress;
  decltype(&ucp_request_free) free;
};

/// ucp_cleanup(), and behind the last context of the back end UCX's messages are no longer taken.
void close_context(ucp_context_h context) noexcept;

using Context = Handle<ucp_context, close_context>;
using Worker = Handle<ucp_worker, ucp_worker_destroy>;
using RemoteKey = Handle<ucp_rkey, ucp_rkey_destroy>;

/// Memory that UCX knows, until this goes. Source: ucp_mem_map().
class Mapping {
 public:
  Mapping(ucp_context_h context, const memory::Buffer& memory);
  Mapping(Mapping&& other) noexcept
      : context_(other.context_), handle_(std::exchange(other.handle_, nullptr)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  ucp_mem_h handle() const noexcept { return handle_; }
  /// What a peer needs to read and write it.
  std::string key() const;

 private:
  ucp_context_h context_;
  ucp_mem_h handle_ = nullptr;
};

/// A region of this side.
struct LocalRegion {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  ucp_mem_h handle = nullptr;
};

/// A region of the peer.
struct PeerRegion {
  std::uint64_t base = 0;  ///< its virtual address
  std::uint64_t bytes = 0;
  std::string key{};  ///< of ucp_rkey_pack()
};

/// What the offsets of a post count from.
struct Ends {
  std::byte* data = nullptr;
  std::uint64_t remote_base = 0;
  ucp_rkey_h remote_key = nullptr;
};

class Objects;
struct QueuePair;

/// What a compare-swap compares with stays UCX's until it has completed. As many as posts may be
/// outstanding.
struct SwapOperand {
  QueuePair* queue_pair = nullptr;
  std::uint64_t word = 0;
  SwapOperand* next = nullptr;  ///< of those that are free
};

/// One of UCX's endpoints to the peer, and what its posts are made of.
struct QueuePair {
  ucp_ep_h ep = nullptr;
  Ends ends{};        ///< region 0 of both sides, but for as long as a RegionMessage is posted
  ucp_tag_t tag = 0;  ///< its number, where an immediate is not
  std::uint32_t under_way = 0;  ///< operations and flushes
  Objects* owner = nullptr;
  ucp_request_param_t param{};   ///< of sends, writes and reads
  ucp_request_param_t flush{};   ///< of flushes
  ucp_request_param_t atomic{};  ///< of atomics without a condition
  ucp_request_param_t swap{};    ///< of compare-swaps
  std::vector<SwapOperand> operands{};
  SwapOperand* free_operands = nullptr;
  std::vector<RemoteKey> remote_keys{};  ///< of the peer's regions
};

/// A receive.
struct ReceiveContext {
  Objects* owner = nullptr;
  std::byte* buffer = nullptr;
  std::uint32_t slot = 0;
  ucp_tag_t tag = 0;
  void* request = nullptr;  ///< while it is posted, but within the call that posts it
  bool is_posted = false;
};

/// Thread rule: one thread at a time.
class Objects {
 public:
  Objects& operator=(Objects&&) = delete;

 protected:
  Objects(const EndpointRequest& request, std::string_view choice);
  ~Objects();

  std::string address() const;
  void connect(std::string_view peer_address);
  Description describe(std::uint64_t bytes = 0) const;
  std::string failure() const;
  Failure failed_call() const;
  std::uint64_t peer_window_bytes() const noexcept { return peer_region_bytes(0); }
  std::uint64_t peer_region_bytes(RegionId region) const noexcept {
    return region < peer_regions_.size() ? peer_regions_[region].bytes : 0;
  }

  bool has_regions(const RegionMessage& message, bool two_sided) const noexcept;
  Ends ends_of(const QueuePair& pair, const RegionMessage& message, bool two_sided) const noexcept;
  PostStatus receive_into(ReceiveContext& receive) noexcept;
  /// Until something may have completed; false when that failed.
  bool sleep(std::chrono::milliseconds at_most) noexcept;

  static bool is_error(ucs_status_ptr_t result) noexcept {
    return reinterpret_cast<std::uintptr_t>(result) >= static_cast<std::uintptr_t>(UCS_ERR_LAST);
  }

  /// What UCX calls when a request completes that did not complete at once.
  static void on_sent(void* request, ucs_status_t status, void* queue_pair) noexcept;
  static void on_swapped(void* request, ucs_status_t status, void* operand) noexcept;
  static void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                          void* receive) noexcept;
  static void on_error(void* owner, ucp_ep_h ep, ucs_status_t status) noexcept;

  Calls calls_;
  ucp_worker_h polled_ = nullptr;  ///< the worker
  std::vector<QueuePair> queue_pairs_;
  std::vector<Received> arrivals_;  ///< a ring: at most one for each receive
  std::uint64_t arrivals_begin_ = 0;
  std::uint64_t arrivals_end_ = 0;
  std::uint64_t arrivals_mask_ = 0;
  OperationSet operations_;
  std::uint64_t max_size_;
  std::uint32_t depth_;
  std::uint32_t longest_list_;
  Signal flushed_from_;  ///< which writes a flush follows: by_interval, each; now, the last ones
  bool refused_ = false;
  ucs_status_t failed_ = UCS_OK;
  std::uint64_t posted_ = 0;
  std::uint64_t under_way_ = 0;  ///< of all queue pairs
  std::uint64_t seen_ = 0;       ///< completed() of the last poll
  int wait_fd_ = -1;             ///< the worker's, where events were asked for; it closes it
  std::vector<ReceiveContext> receives_;
  std::vector<LocalRegion> regions_;
  std::vector<PeerRegion> peer_regions_;
  Region send_region_;
  Region receive_region_;
  Region window_region_;

 private:
  void map_memory();
  void open_queue_pairs(std::string_view worker_address);
  void close() noexcept;

  EndpointRequest request_;
  // What UCX borrows outlives it.
  memory::Buffer send_memory_;
  memory::Buffer receive_memory_;
  memory::Buffer window_memory_;
  std::vector<memory::Buffer> more_memory_;  ///< of the regions behind region 0
  Context context_;
  std::vector<Mapping>
      mappings_;  ///< of the sends, the receives, the window, and what is behind it
  Worker worker_;
  ucp_request_param_t receive_param_{};
  ucp_tag_t tag_mask_ = 0;
};

/// See transport.h for the contract. An endpoint has a context and a worker of its own, so that
/// endpoints in different threads share no lock; its queue pairs are UCX endpoints of that worker.
/// One thread drives an endpoint at a time.
///
/// kMany: of several queue pairs, or one that sleeps; the other form has the shorter code path.
template <bool kMany>
class EndpointOf : private Objects {
 public:
  static constexpr bool kReliable = true;
  static constexpr bool kManyQueuePairs = kMany;
  static constexpr bool kPostLists = true;
  static constexpr bool kOrdersMessages = false;
  static constexpr bool kNeedsProgress = true;
  /// UCX has no put that tells its target: a message behind one would be a second message.
  template <class Op>
  static constexpr bool supports = !Op::kExtended && (Op::kTwoSided || !Op::kImmediate);
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

  PostStatus post_receive(std::uint32_t slot) noexcept { return receive_into(receives_[slot]); }

  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
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
      SwapOperand* const operand = pair.free_operands;
      operand->word = word;
      ++word;
      std::memcpy(data, &word, sizeof word);  // what is swapped in comes from there
      pair.swap.reply_buffer = data;
      pair.swap.user_data = operand;
      void* const result =
          calls_.atomic(pair.ep, UCP_ATOMIC_OP_CSWAP, &operand->word, 1,
                        pair.ends.remote_base + remote, pair.ends.remote_key, &pair.swap);
      if (result != nullptr && !is_error(result)) pair.free_operands = operand->next;
      return result;
    }
  }

  /// What did not complete within its call.
  bool started(QueuePair& pair, ucs_status_ptr_t result) noexcept {
    if (is_error(result)) [[unlikely]] {
      failed_ = static_cast<ucs_status_t>(reinterpret_cast<std::intptr_t>(result));
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

using Endpoint = EndpointOf<false>;     ///< one queue pair, polled
using ManyEndpoint = EndpointOf<true>;  ///< many queue pairs, or events

/// Calls visitor(std::type_identity<E>()) with the endpoint type E that a request gets.
template <class Visitor>
auto with_endpoint_type(const EndpointRequest& request, Visitor&& visitor) {
  if (request.options.queue_pairs > 1 || request.options.events)
    return visitor(std::type_identity<ManyEndpoint>());
  return visitor(std::type_identity<Endpoint>());
}

}  // namespace rdmabench::inline v1::transport::ucx

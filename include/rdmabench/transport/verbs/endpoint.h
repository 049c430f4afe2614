// verbs: queue pairs of one peer over libibverbs.
//
// Set-up is in core.h; what runs per message is here, so that it is compiled into the loops. Work
// requests are built before and edited in place.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rdmabench/transport/transport.h"
#include "rdmabench/transport/verbs/core.h"
#include "rdmabench/transport/verbs/extended.h"

namespace rdmabench::inline v1::transport::verbs {

// An option costs nothing where it is not used, because the loop is compiled once for each of these
// and none of them tests for one.

/// One RC queue pair, one completion queue, one scatter/gather entry: what is measured most.
struct Lean {
  static constexpr Posting kPosting = Posting::lists;
  static constexpr bool kReliable = true, kManyQueuePairs = false, kOrdersMessages = true;
};
/// RC and XRC with everything: several queue pairs, several scatter/gather entries, a shared
/// receive queue, two completion queues, events.
struct General {
  static constexpr Posting kPosting = Posting::lists;
  static constexpr bool kReliable = true, kManyQueuePairs = true, kOrdersMessages = false;
};
/// The same over UC and UD.
struct Datagram : General {
  static constexpr bool kReliable = false;
};
/// RC as General, with the operations that only ibv_wr_post(3) has.
struct Extended : General {
  static constexpr Posting kPosting = Posting::connected;
};
/// DC: as General, with a target named in each request.
struct Dynamic : General {
  static constexpr Posting kPosting = Posting::dynamic;
};
/// SRD: packets take many paths: neither messages nor completions are ordered. Every request is
/// signalled.
struct Scalable : General {
  static constexpr Posting kPosting = Posting::scalable;
};

/// See transport.h for the contract. One thread drives an endpoint; endpoints share nothing.
///
/// A send's wr_id is how many were posted to its queue pair, it included. A queue pair
/// completes them in order, so a completion stands for all posts of the queue pair before it; but
/// over SRD for its own alone.
template <class Policy>
class BasicEndpoint : public Core {
 public:
  static constexpr bool kReliable = Policy::kReliable;
  static constexpr bool kManyQueuePairs = Policy::kManyQueuePairs;
  static constexpr bool kPostLists = true;
  static constexpr bool kOrdersMessages = Policy::kOrdersMessages;
  static constexpr bool kNeedsProgress = false;
  static constexpr bool kForExtended = Policy::kPosting == Posting::connected;
  template <class Op>
  static constexpr bool supports =
      Op::kFlushes        ? Policy::kPosting == Posting::connected&& kHasFlush<ibv_qp_ex>
      : Op::kExtended     ? Policy::kPosting == Posting::connected
      : Policy::kReliable ? Policy::kPosting != Posting::scalable || !Op::kAtomic
                          : !Op::kAnswered;
  template <class Op>
  static constexpr bool consumes_receive = Op::kNotifies;

  /// Throws as Core does, and Error(usage) for a request that is another policy's.
  BasicEndpoint(const EndpointRequest& request, std::string_view choice);

  template <class Op>
  [[gnu::always_inline]] PostStatus post(std::uint64_t local, std::uint64_t remote,
                                         std::uint64_t bytes, std::uint64_t word, Signal signal,
                                         std::uint32_t queue_pair = 0) noexcept {
    SendQueue& send_queue = this->send_queue(queue_pair);
    const std::uint64_t number = send_queue.posted;
    if (number == send_queue.limit) return PostStatus::busy;
    Prepared& prepared = send_queue.prepared[static_cast<std::size_t>(Op::kCode)];
    if (prepared.bytes != bytes && !prepare(send_queue, Op::kCode, bytes)) [[unlikely]]
      return PostStatus::failed;
    ibv_send_wr& request =
        must_signal(send_queue, number, signal) ? prepared.signalled : prepared.request;
    set_addresses<Op>(request, prepared.piece, send_address_ + local, window_address_ + remote,
                      word);
    request.wr_id = id_of(send_queue, number + 1);
    int code = 0;
    if constexpr (kExtended) {
      code = post_extended<Op>(queue_pair, &request, 1);
    } else {
      ibv_send_wr* refused;  // of no interest: there is one
      code = ibv_post_send(send_queue.queue_pair, &request, &refused);
    }
    if (code != 0) [[unlikely]]
      return refuse_send(send_queue, code);
    count(send_queue, number + 1, 1);
    return PostStatus::posted;
  }

  template <class Op>
  PostStatus post(const RegionMessage& message, Signal signal,
                  std::uint32_t queue_pair = 0) noexcept {
    return post_all<Op>(std::span(&message, 1), signal, queue_pair);
  }

  template <class Op>
  [[gnu::always_inline]] PostStatus post_list(std::span<const Message> messages, Signal signal,
                                              std::uint32_t queue_pair = 0) noexcept {
    return post_all<Op>(messages, signal, queue_pair);
  }

  template <class Op>
  PostStatus post_list(std::span<const RegionMessage> messages, Signal signal,
                       std::uint32_t queue_pair = 0) noexcept {
    return post_all<Op>(messages, signal, queue_pair);
  }

  /// `slot` is one that a Received named.
  [[gnu::always_inline]] PostStatus post_receive(std::uint32_t slot) noexcept {
    const ReceiveSlot& at = receive_slots_[slot];
    receive_piece_.addr = at.address;
    receive_request_.wr_id = kReceiveBit | slot;
    ibv_recv_wr* refused = nullptr;
    int code = 0;
    if constexpr (kManyQueuePairs) {
      code = post_receive_call_(at.queue, &receive_request_, &refused);
    } else {
      code = ibv_post_recv(send_queues_[0].queue_pair, &receive_request_, &refused);
    }
    if (code != 0) [[unlikely]]
      return refuse("ibv_post_recv", code);
    return PostStatus::posted;
  }

  /// The same from within on_receive(): the receives of one poll go back by one call at its end.
  [[gnu::always_inline]] void defer_receive(std::uint32_t slot) noexcept
      requires(!kManyQueuePairs) {
    returned_pieces_[returned_].addr = receive_slots_[slot].address;
    returned_requests_[returned_].wr_id = kReceiveBit | slot;
    ++returned_;
  }

  template <class OnReceive>
  [[gnu::always_inline]] int poll(OnReceive&& on_receive) noexcept {
    if constexpr (kManyQueuePairs) {
      int seen = 0;
      for (ibv_cq* queue : completion_queues_) {
        const int more = poll_queue(queue, on_receive);
        if (more < 0) [[unlikely]]
          return more;
        seen += more;
      }
      return seen;
    } else {
      return poll_queue(completion_queue_, on_receive);
    }
  }

  bool wait_for_event(std::chrono::milliseconds at_most) noexcept {
    if constexpr (kManyQueuePairs) {
      return fail(queues_.completions.wait_for_event(at_most));
    } else {
      return true;
    }
  }

  std::uint64_t posted() const noexcept {
    if constexpr (kManyQueuePairs) return posted_;
    return send_queues_[0].posted;
  }
  std::uint64_t completed() const noexcept {
    if constexpr (kManyQueuePairs) return completed_;
    return send_queues_[0].limit - depth_;
  }

 private:
  using SendQueues =
      std::conditional_t<kManyQueuePairs, std::vector<SendQueue>, std::array<SendQueue, 1>>;
  using PostReceiveCall = int (*)(void* queue, ibv_recv_wr*, ibv_recv_wr**) noexcept;
  static constexpr bool kExtended = Policy::kPosting != Posting::lists;
  static constexpr bool kCompletesEach = Policy::kPosting == Posting::scalable;

  [[gnu::always_inline]] SendQueue& send_queue(std::uint32_t index) noexcept {
    if constexpr (kManyQueuePairs) return send_queues_[index];
    return send_queues_[0];
  }

  static std::uint64_t id_of(const SendQueue& send_queue, std::uint64_t posted) noexcept {
    if constexpr (kManyQueuePairs) return send_queue.tag | static_cast<std::uint32_t>(posted);
    return posted;
  }

  /// All of `messages` as one list. Its requests are built for region 0: the keys of other regions
  /// are theirs for as long as they are posted.
  template <class Op, class M>
  [[gnu::always_inline]] PostStatus post_all(std::span<const M> messages, Signal signal,
                                             std::uint32_t queue_pair) noexcept {
    constexpr bool kRegions = std::is_same_v<M, RegionMessage>;
    SendQueue& send_queue = this->send_queue(queue_pair);
    const std::uint64_t first = send_queue.posted;
    const auto size = static_cast<std::uint32_t>(messages.size());
    if (send_queue.limit - first < size) return PostStatus::busy;
    if constexpr (kRegions) {
      if (!accepts(messages, Op::kCode)) return PostStatus::failed;
    }
    if ((send_queue.chained != size || send_queue.list_operation != Op::kCode) &&
        !link(send_queue, Op::kCode, size)) [[unlikely]]
      return size == 0 ? PostStatus::posted : PostStatus::failed;
    ibv_send_wr* request = send_queue.list.data();
    Keys own{};
    for (std::uint32_t i = 0; i < size; ++i) {
      const M& message = messages[i];
      if (send_queue.list_bytes[i] != message.bytes &&
          !prepare_in_list(send_queue, i, message.bytes)) [[unlikely]]
        return PostStatus::failed;
      if constexpr (kRegions) {
        if (i == 0) own = keys_of<Op>(request[0]);
        set_regions<Op>(request[i], message, own);
      } else {
        set_addresses<Op>(request[i], *request[i].sg_list, send_address_ + message.local,
                          window_address_ + message.remote, message.word);
      }
      request[i].wr_id = id_of(send_queue, first + i + 1);
    }
    // One completion for a list in which the interval ends: it stands for all before it.
    ibv_send_wr& last = request[size - 1];
    const unsigned flags = last.send_flags;
    const std::uint64_t end = first + size;
    if (send_queue.signal_at < end || signal_every_ <= size || signal == Signal::now) {
      last.send_flags = flags | IBV_SEND_SIGNALED;
      send_queue.signal_at = end + interval_ - 1;
    }
    int code = 0;
    ibv_send_wr* refused = request;  // set where ibv_post_send(3) fails
    if constexpr (kExtended) {
      code = post_extended<Op>(queue_pair, request, size);
    } else {
      code = ibv_post_send(send_queue.queue_pair, request, &refused);
    }
    last.send_flags = flags;
    if constexpr (kRegions) {
      for (std::uint32_t i = 0; i < size; ++i) set_keys<Op>(request[i], own);
    }
    if (code != 0) [[unlikely]]
      return refuse_list(send_queue, code, refused);
    count(send_queue, end, size);
    return PostStatus::posted;
  }

  struct Keys {
    std::uint32_t local;
    std::uint32_t remote;
  };

  template <class Op>
  static Keys keys_of(const ibv_send_wr& request) noexcept {
    return {request.sg_list->lkey, Op::kAtomic ? request.wr.atomic.rkey : request.wr.rdma.rkey};
  }

  template <class Op>
  static void set_keys(ibv_send_wr& request, Keys keys) noexcept {
    for (int k = 0; k < request.num_sge; ++k) request.sg_list[k].lkey = keys.local;
    if constexpr (Op::kAtomic) {
      request.wr.atomic.rkey = keys.remote;
    } else if constexpr (!Op::kTwoSided) {
      request.wr.rdma.rkey = keys.remote;
    }
  }

  /// Points a request at a message between regions that are there; `own` are the keys of region 0.
  template <class Op>
  void set_regions(ibv_send_wr& request, const RegionMessage& message, Keys own) noexcept {
    const std::uint64_t local = regions_[message.local].address + message.local_at;
    std::uint64_t remote = 0;
    if (message.local != 0) own.local = regions_[message.local].key;
    if constexpr (!Op::kTwoSided) {
      remote = peer_regions_[message.remote].address + message.remote_at;
      if (message.remote != 0) own.remote = peer_regions_[message.remote].key;
    }
    set_keys<Op>(request, own);
    set_addresses<Op>(request, *request.sg_list, local, remote, message.word);
  }

  /// Points a request at its message.
  template <class Op>
  [[gnu::always_inline]] void set_addresses(ibv_send_wr& request, ibv_sge& piece,
                                            std::uint64_t local, std::uint64_t remote,
                                            std::uint64_t word) noexcept {
    if constexpr (kManyQueuePairs) {
      for (int k = 0; k < request.num_sge; ++k) {
        request.sg_list[k].addr = local;
        local += request.sg_list[k].length;
      }
    } else {
      piece.addr = local;
    }
    if constexpr (!Op::kTwoSided) request.wr.rdma.remote_addr = remote;
    if constexpr (Op::kImmediate) request.imm_data = htonl(static_cast<std::uint32_t>(word));
    if constexpr (Op::kConditional) {
      request.wr.atomic.compare_add = word;
      request.wr.atomic.swap = word + 1;
    }
  }

  /// Whether this post must set IBV_SEND_SIGNALED. Where every post is signalled, `request` has the
  /// flag already, and this is false.
  [[gnu::always_inline]] bool must_signal(SendQueue& send_queue, std::uint64_t number,
                                          Signal signal) noexcept {
    if (number != send_queue.signal_at && signal != Signal::now) [[likely]]
      return false;
    send_queue.signal_at = number + interval_;
    return true;
  }

  /// All of `requests` or, with an errno, none. EFA accepts only signalled requests.
  template <class Op>
  [[gnu::always_inline]] int post_extended(std::uint32_t queue_pair, const ibv_send_wr* requests,
                                           std::uint32_t count) noexcept requires(kExtended) {
    const PostDestination& destination = destinations_[queue_pair];
    ibv_wr_start(destination.queue_pair);
    for (std::uint32_t i = 0; i < count; ++i) {
      add_request<Op, Policy::kPosting>(destination, requests[i],
                                        kCompletesEach ? unsigned{IBV_SEND_SIGNALED} : 0U);
    }
    return ibv_wr_complete(destination.queue_pair);
  }

  [[gnu::always_inline]] void count(SendQueue& send_queue, std::uint64_t posted,
                                    std::uint32_t by) noexcept {
    send_queue.posted = posted;
    if constexpr (kManyQueuePairs) posted_ += by;
  }

  template <class OnReceive>
  [[gnu::always_inline]] int poll_queue(ibv_cq* queue, OnReceive& on_receive) noexcept {
    ibv_wc completions[kBatch];
    const int count = ibv_poll_cq(queue, kBatch, completions);
    std::uint64_t limit = kManyQueuePairs ? 0 : send_queues_[0].limit;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[i];
      if (completion.status != IBV_WC_SUCCESS) [[unlikely]] {
        if constexpr (!kManyQueuePairs) send_queues_[0].limit = limit;
        return fail(completion);
      }
      // The number tells receives from sends, as the opcode does, without a second field to read.
      if ((completion.wr_id & kReceiveBit) != 0) {
        const bool has_immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
        on_receive(Received{static_cast<std::uint32_t>(completion.wr_id),
                            has_immediate ? ntohl(completion.imm_data) : 0,
                            kReliable ? completion.byte_len : completion.byte_len - header_bytes_});
      } else if constexpr (kManyQueuePairs) {
        complete(completion.wr_id);
      } else {
        limit = completion.wr_id + depth_;
      }
    }
    if (count < 0) [[unlikely]]
      return fail(count);
    if constexpr (!kManyQueuePairs) {
      send_queues_[0].limit = limit;
      if (returned_ != 0 && !post_returned()) [[unlikely]]
        return -1;
    }
    return count;
  }

  [[gnu::always_inline]] bool post_returned() noexcept {
    ibv_recv_wr& last = returned_requests_[returned_ - 1];
    ibv_recv_wr* const next = last.next;
    last.next = nullptr;
    returned_ = 0;
    ibv_recv_wr* refused = nullptr;
    const int code = ibv_post_recv(send_queues_[0].queue_pair, returned_requests_.data(), &refused);
    last.next = next;
    return code == 0 || refuse("ibv_post_recv", code) == PostStatus::posted;
  }

  [[gnu::always_inline]] void complete(std::uint64_t id) noexcept {
    SendQueue& send_queue = send_queues_[id >> 32];
    if constexpr (kCompletesEach) {
      ++send_queue.limit;
      ++completed_;
      return;
    }
    const std::uint64_t before = send_queue.limit - depth_;
    const auto more = static_cast<std::uint32_t>(id) - static_cast<std::uint32_t>(before);
    send_queue.limit += more;
    completed_ += more;
  }

  SendQueues send_queues_;
  std::uint32_t returned_ = 0;                   ///< receives that this poll will give back
  PostReceiveCall post_receive_call_ = nullptr;  ///< to a queue pair, or to a shared queue
};

using Endpoint = BasicEndpoint<Lean>;
using GeneralEndpoint = BasicEndpoint<General>;
using DatagramEndpoint = BasicEndpoint<Datagram>;
using ExtendedEndpoint = BasicEndpoint<Extended>;
#if RDMABENCH_HAVE_MLX5
using DynamicEndpoint = BasicEndpoint<Dynamic>;
extern template class BasicEndpoint<Dynamic>;
#endif
#if RDMABENCH_HAVE_EFA
using ScalableEndpoint = BasicEndpoint<Scalable>;
extern template class BasicEndpoint<Scalable>;
#endif

extern template class BasicEndpoint<Lean>;
extern template class BasicEndpoint<General>;
extern template class BasicEndpoint<Datagram>;
extern template class BasicEndpoint<Extended>;

/// One RC queue pair and nothing else that Lean does not do.
bool is_lean(const EndpointRequest& request) noexcept;

/// Calls visitor(std::type_identity<E>()) with the endpoint type E that a request gets: the one
/// whose data path does what it asks for and no more. The same on both sides.
template <class Visitor>
auto with_endpoint_type(const EndpointRequest& request, Visitor&& visitor) {
#if RDMABENCH_HAVE_MLX5
  if (request.options.service == Service::dc) return visitor(std::type_identity<DynamicEndpoint>());
#endif
#if RDMABENCH_HAVE_EFA
  if (request.options.service == Service::srd)
    return visitor(std::type_identity<ScalableEndpoint>());
#endif
  if (request.operations.any(is_extended)) return visitor(std::type_identity<ExtendedEndpoint>());
  if (!is_reliable(request.options.service)) return visitor(std::type_identity<DatagramEndpoint>());
  if (!is_lean(request)) return visitor(std::type_identity<GeneralEndpoint>());
  return visitor(std::type_identity<Endpoint>());
}

}  // namespace rdmabench::inline v1::transport::verbs

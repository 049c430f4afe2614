// What an endpoint of UCX is made of, and how it is set up. The data path over it is endpoint.h's.
#pragma once

#include <ucp/api/ucp.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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
  decltype(&ucp_am_send_nbx) active_send;
  decltype(&ucp_am_recv_data_nbx) active_receive;
  decltype(&ucp_am_data_release) active_release;
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

/// Of active messages; the tag is their header.
inline constexpr unsigned kActiveId = 0;

/// Messages of Service::am, and not tagged ones.
inline bool is_active(const EndpointRequest& request) {
  return request.options.service == Service::am;
}

class Objects;
struct QueuePair;

/// What UCX borrows until a post has completed: what a compare-swap compares with, or the header of
/// an active message with an immediate. As many as posts may be outstanding.
struct Operand {
  QueuePair* queue_pair = nullptr;
  std::uint64_t word = 0;
  Operand* next = nullptr;  ///< of those that are free
};

/// A receive.
struct ReceiveContext {
  Objects* owner = nullptr;
  QueuePair* queue_pair = nullptr;
  std::byte* buffer = nullptr;
  std::uint32_t slot = 0;
  ucp_tag_t tag = 0;        ///< that is waited for; of an active message the one that came
  void* request = nullptr;  ///< while it is posted, but within the call that posts it
  bool is_posted = false;
  ReceiveContext* next = nullptr;  ///< of those that wait for an active message
};

/// An active message that came before its receive. UCX keeps its bytes, or how to fetch them, or
/// they were copied.
struct Unclaimed {
  void* data = nullptr;
  std::uint64_t bytes = 0;
  ucp_tag_t tag = 0;
  bool is_here = false;  ///< else it comes by rendezvous
  bool is_copied = false;
  Unclaimed* next = nullptr;
};

/// Of what lies elsewhere.
template <class T>
struct Chain {
  T* first = nullptr;
  T* last = nullptr;

  void push(T& one) noexcept {
    one.next = nullptr;
    (first == nullptr ? first : last->next) = &one;
    last = &one;
  }
  /// The next one that comes out: it is in the cache.
  void push_front(T& one) noexcept {
    if (first == nullptr) last = &one;
    one.next = std::exchange(first, &one);
  }
  T* pop() noexcept {
    T* const one = first;
    if (one != nullptr) first = one->next;
    return one;
  }
};

/// One of UCX's endpoints to the peer, and what its posts are made of.
struct QueuePair {
  ucp_ep_h ep = nullptr;
  Ends ends{};        ///< region 0 of both sides, but for as long as a RegionMessage is posted
  ucp_tag_t tag = 0;  ///< its number, where an immediate is not; the header of an active message
  std::uint32_t under_way = 0;  ///< operations and flushes
  Objects* owner = nullptr;
  ucp_request_param_t param{};     ///< of sends, writes and reads
  ucp_request_param_t flush{};     ///< of flushes
  ucp_request_param_t atomic{};    ///< of atomics without a condition
  ucp_request_param_t borrowed{};  ///< of what an operand belongs to
  std::vector<Operand> operands{};
  Operand* free_operands = nullptr;
  std::vector<RemoteKey> remote_keys{};  ///< of the peer's regions
  Chain<ReceiveContext> receives{};      ///< that wait for an active message
  Chain<Unclaimed> unclaimed{};          ///< active messages that wait for a receive
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
  PostStatus receive_tagged(ReceiveContext& receive) noexcept;
  void post_given_back() noexcept;
  PostStatus receive_active(ReceiveContext& receive) noexcept;
  /// Until something may have completed; false when that failed.
  bool sleep(std::chrono::milliseconds at_most) noexcept;

  static bool is_error(ucs_status_ptr_t result) noexcept {
    return reinterpret_cast<std::uintptr_t>(result) >= static_cast<std::uintptr_t>(UCS_ERR_LAST);
  }
  /// The first cause stays: what fails later follows from it.
  void fail(ucs_status_t status) noexcept {
    if (failed_ == UCS_OK) failed_ = status;
  }
  void fail(ucs_status_ptr_t result) noexcept {
    fail(static_cast<ucs_status_t>(reinterpret_cast<std::intptr_t>(result)));
  }

  /// What UCX calls when a request completes that did not complete at once.
  static void on_sent(void* request, ucs_status_t status, void* queue_pair) noexcept;
  static void on_operand(void* request, ucs_status_t status, void* operand) noexcept;
  static void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                          void* receive) noexcept;
  static void on_fetched(void* request, ucs_status_t status, std::size_t bytes,
                         void* receive) noexcept;
  /// What UCX calls for each active message that comes.
  static ucs_status_t on_active(void* owner, const void* header, std::size_t header_bytes,
                                void* data, std::size_t bytes,
                                const ucp_am_recv_param_t* how) noexcept;
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
  const char* unfit_ = nullptr;  ///< what this side did not take of the peer, where that failed
  std::uint64_t posted_ = 0;
  std::uint64_t under_way_ = 0;  ///< of all queue pairs
  std::uint64_t seen_ = 0;       ///< completed() of the last poll
  int wait_fd_ = -1;             ///< the worker's, where events were asked for; it closes it
  std::vector<ReceiveContext> receives_;
  std::vector<ReceiveContext*> back_;  ///< those that UCX does not have yet
  std::size_t given_back_ = 0;         ///< so many
  std::vector<Unclaimed> unclaimed_;   ///< as many as active messages may wait for a receive
  Chain<Unclaimed> free_unclaimed_{};
  std::vector<std::byte> copies_;  ///< of those whose bytes UCX does not keep, one behind another
  std::size_t copied_ = 0;         ///< bytes
  std::size_t copies_waiting_ = 0;
  std::vector<LocalRegion> regions_;
  std::vector<PeerRegion> peer_regions_;
  Region send_region_;
  Region receive_region_;
  Region window_region_;

 private:
  void map_memory();
  void prepare_posts();
  void prepare_receives();
  void take_active_messages();
  void drop_unclaimed() noexcept;
  bool keep(Unclaimed& message) noexcept;
  bool fill(ReceiveContext& receive, const Unclaimed& message) noexcept;
  void arrived(const ReceiveContext& receive, ucp_tag_t tag, std::uint64_t bytes) noexcept {
    arrivals_[arrivals_end_++ & arrivals_mask_] =
        Received{receive.slot, static_cast<std::uint32_t>(tag), bytes};
  }
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

}  // namespace rdmabench::inline v1::transport::ucx

// What an ofi endpoint is made of, and how it is set up. The data path over it is endpoint.h's.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/handle.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::ofi {

/// fi_close(3) takes the fid that every libfabric object starts with.
template <class T>
int close_fid(T* object) noexcept {
  return fi_close(&object->fid);
}

template <class T>
using Fid = Handle<T, close_fid<T>>;

/// A whole list that fi_getinfo(3) returned, or one entry from fi_dupinfo(3).
using Info = Handle<fi_info, fi_freeinfo>;

/// What libfabric calls an atomic; FI_ATOMIC_OP_LAST: nothing. A conditional one is called by
/// fi_compare_atomic(3), another one by fi_fetch_atomic(3).
constexpr fi_op atomic_op(OperationCode code) {
  if (code == OperationCode::fetch_add) return FI_SUM;
  if (code == OperationCode::compare_swap) return FI_CSWAP;
  return static_cast<fi_op>(FI_ATOMIC_OP_LAST);  // a macro in later releases of libfabric
}

/// The memory that a provider borrows for each operation under way. It gets a pointer to the first
/// member, and gives it back in the completion.
struct Context {
  fi_context2 context;       ///< the larger of FI_CONTEXT and FI_CONTEXT2 serves both modes
  std::uint32_t queue_pair;  ///< whose it is
  std::uint64_t* operands;  ///< of an atomic operation: what to add or compare, and what to swap in
};

/// As many contexts as posts may be outstanding on one queue pair. Completions come back in any
/// order, so this is a stack of what is free; its emptiness is the depth limit. Source:
/// fi_getinfo(3), "mode". Thread rule: the endpoint's thread.
class ContextPool {
 public:
  /// Words of `operands` for each context.
  static constexpr std::uint32_t kOperands = 2;

  /// `operands`: kOperands words for each context, or null where the operations need none.
  ContextPool(std::uint32_t depth, std::uint32_t queue_pair, std::uint64_t* operands)
      : contexts_(depth), free_(depth), free_count_(depth) {
    for (std::uint32_t i = 0; i < depth; ++i) {
      contexts_[i].queue_pair = queue_pair;
      contexts_[i].operands = operands == nullptr ? nullptr : operands + std::size_t{kOperands} * i;
      free_[i] = &contexts_[i];
    }
  }

  bool empty() const noexcept { return free_count_ == 0; }
  std::size_t in_use() const noexcept { return contexts_.size() - free_count_; }

  /// The context that the next take() hands out: a post that is refused leaves it where it is.
  Context* top() const noexcept { return free_[free_count_ - 1]; }
  void take() noexcept { --free_count_; }
  void give_back(Context* context) noexcept { free_[free_count_++] = context; }

 private:
  std::vector<Context> contexts_;
  std::vector<Context*> free_;
  std::size_t free_count_;
};

/// One of libfabric's endpoints, and whom it talks to.
struct QueuePair {
  Fid<fid_ep> ep;
  fi_addr_t peer = FI_ADDR_UNSPEC;  ///< of an rdm endpoint; a connected one ignores it
  fi_addr_t from =
      FI_ADDR_UNSPEC;  ///< whose messages receives take: the peer's where it is offered
};

/// A receive. While it is posted, `context` belongs to the provider.
struct ReceiveContext {
  fi_context2 context;
  std::byte* buffer;
  std::uint32_t slot;
  std::uint32_t queue_pair;
};

/// A region of this side.
struct LocalRegion {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  void* descriptor = nullptr;  ///< fi_mr_desc(3); null where the provider needs none
};

/// A region of the peer.
struct PeerRegion {
  std::uint64_t base = 0;  ///< its virtual address, or 0 where offsets are used
  std::uint64_t bytes = 0;
  std::uint64_t key = 0;
};

/// What the offsets of a post count from.
struct Ends {
  std::byte* data = nullptr;
  void* descriptor = nullptr;
  std::uint64_t remote_base = 0;
  std::uint64_t remote_key = 0;
};

class Accepted;
struct Address;
struct MemoryRoute;
struct Offload;

/// All that is open, and what the provider borrows. The members are closed in reverse.
struct OpenObjects {
  OpenObjects();
  ~OpenObjects();
  OpenObjects(OpenObjects&& other) noexcept;
  OpenObjects& operator=(OpenObjects&&) = delete;

  Info info_;
  std::unique_ptr<Accepted> accepted_;  ///< goes once the provider has closed everything

  // What the provider borrows outlives everything that could still touch it.
  memory::Buffer operand_memory_;
  std::vector<ContextPool> contexts_;  ///< of each queue pair
  std::vector<ReceiveContext> receives_;
  memory::Buffer send_memory_;
  memory::Buffer receive_memory_;
  memory::Buffer window_memory_;
  std::vector<memory::Buffer> more_memory_;  ///< of the regions behind region 0
  Fid<fid_fabric> fabric_;
  Fid<fid_eq> eq_;  ///< msg only: of connections
  Fid<fid_domain> domain_;
  Fid<fid_av> av_;  ///< rdm only
  Fid<fid_cq> cq_;
  Fid<fid_pep> listener_;  ///< the server's side of msg
  std::vector<QueuePair> queue_pairs_;
  Fid<fid_mr> operand_registration_;
  Fid<fid_mr> send_registration_;
  Fid<fid_mr> receive_registration_;
  Fid<fid_mr> window_registration_;
  std::vector<Fid<fid_mr>> more_registrations_;
};

/// Thread rule: one thread at a time.
class Objects : protected OpenObjects {
 public:
  Objects& operator=(Objects&&) = delete;

 protected:
  Objects(const EndpointRequest& request, std::string_view choice);
  ~Objects();

  std::string address() const;
  void connect(std::string_view peer_address);
  Description describe(std::uint64_t bytes = 0) const;
  std::uint64_t peer_window_bytes() const noexcept { return peer_window_bytes_; }
  std::uint64_t peer_region_bytes(RegionId region) const noexcept {
    return region < peer_regions_.size() ? peer_regions_[region].bytes : 0;
  }
  std::string failure() const;
  Failure failed_call() const;

  /// Whether a message lies within regions that are there.
  bool has_regions(const RegionMessage& message, bool two_sided) const noexcept;
  Ends ends_of(const RegionMessage& message, bool two_sided) const noexcept;
  /// fi_recv(3) into a receive slot.
  ssize_t receive_into(std::uint32_t slot) noexcept;
  /// Gives the receive that a write with immediate took back to the provider (FI_RX_CQ_DATA).
  void repost(void* receive_context) noexcept;
  int poll_failed(ssize_t result) noexcept;
  /// Until something may have completed; false when that failed.
  bool sleep(std::chrono::milliseconds at_most) noexcept;

  Region send_region_;
  Region receive_region_;
  Region window_region_;
  void* operand_descriptor_ = nullptr;
  void* receive_descriptor_ = nullptr;
  Ends ends_;  ///< region 0 of both sides, but for as long as a RegionMessage is posted
  std::vector<LocalRegion> regions_;
  std::vector<PeerRegion> peer_regions_;
  std::uint64_t peer_window_bytes_ = 0;
  OperationSet operations_;
  std::uint64_t max_size_;
  std::uint64_t inject_limit_ = 0;
  std::uint64_t write_flags_ = 0;  ///< of each write: its completion level
  std::uint64_t posted_ = 0;
  std::uint64_t outstanding_ = 0;  ///< counted where there are many queue pairs
  std::uint64_t retries_ = 0;
  int wait_fd_ = -1;  ///< the completion queue's, where events were asked for; it closes it
  bool writes_take_receives_ = false;
  bool reposts_failed_ = false;
  bool refused_ = false;  ///< a post was not permitted
  int failure_code_ = 0;

 private:
  void open_queues();
  /// An endpoint of this domain that is bound but not enabled yet.
  Fid<fid_ep> open_endpoint(fi_info& info);
  void open_datagram_queue_pairs();
  void open_listener();
  void check_atomics();
  void close_apart();
  memory::Request place_of(const EndpointRequest& request) const;
  memory::Buffer make_memory(const EndpointRequest& request, std::span<std::byte> buffer,
                             std::uint32_t slots) const;
  /// Once the domain is open: whether the provider takes a GPU's memory, and where slots then lie.
  void settle_memory();
  void register_memory();
  /// How the peer names a byte of registered memory.
  std::uint64_t remote_base(const std::byte* data, const memory::Buffer& memory) const;
  /// The addresses of this side that the peer may connect to.
  std::vector<std::string> names() const;
  void check_peer(const Address& peer) const;
  void check_allowed(const char* name, const std::string& own) const;
  void post_receives(std::uint32_t queue_pair);
  void insert_peers(const Address& peer);
  void connect_queue_pairs(const Address& peer);
  struct Event;
  void accept_queue_pairs();
  void keep_or_reject(const Event& event);
  Info next_request(const Deadline& deadline);
  void await_connected(const fid_ep& endpoint, const Deadline& deadline);
  std::uint32_t next_event(Event& event, const Deadline& deadline, std::string_view waiting_for);

  EndpointRequest request_;
  std::unique_ptr<MemoryRoute> route_;
  std::uint64_t ticket_ = 0;    ///< what a connection must bring to be the peer's
  std::vector<Info> requests_;  ///< of the peer for connections that are still to be accepted
  std::unique_ptr<Offload> offload_;
  std::array<char, 256> failure_detail_{};
};

}  // namespace rdmabench::inline v1::transport::ofi

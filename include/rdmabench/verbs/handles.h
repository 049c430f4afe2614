// verbs: owned libibverbs objects, and descriptions of devices and their ports.
//
// It never posts in a loop and never measures. Set-up throws Error; functions that are noexcept may
// be called on the data path.
//
// This file has the objects that one call creates, completion queues and registered memory.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/handle.h"

namespace rdmabench::inline v1::verbs {

/// ibv_close_xrcd() is an inline C function, so it cannot be a template argument in a header.
int close_xrc_domain(ibv_xrcd* domain) noexcept;

using DeviceList = Handle<ibv_device*, ibv_free_device_list>;
using Context = Handle<ibv_context, ibv_close_device>;
using ProtectionDomain = Handle<ibv_pd, ibv_dealloc_pd>;
using CompletionChannel = Handle<ibv_comp_channel, ibv_destroy_comp_channel>;
using CompletionQueue = Handle<ibv_cq, ibv_destroy_cq>;
using MemoryRegion = Handle<ibv_mr, ibv_dereg_mr>;
using XrcDomain = Handle<ibv_xrcd, close_xrc_domain>;
using SharedReceiveQueue = Handle<ibv_srq, ibv_destroy_srq>;
using QueuePair = Handle<ibv_qp, ibv_destroy_qp>;
using AddressHandle = Handle<ibv_ah, ibv_destroy_ah>;

/// Source: ibv_alloc_pd(3). Throws Error(failed).
ProtectionDomain allocate_protection_domain(ibv_context& context);

/// A completion queue of at least `entries`. If `channel` is given, its events go there by the
/// completion vector `vector`. Throws Error(failed). The caller must check `entries` against the
/// device's max_cqe first. Source: ibv_create_cq(3).
CompletionQueue create_completion_queue(ibv_context& context, std::uint32_t entries,
                                        ibv_comp_channel* channel = nullptr, int vector = 0);

/// A queue of `receives` receives with one scatter/gather entry, for any queue pair of the domain.
/// Throws Error(failed). Source: ibv_create_srq(3).
SharedReceiveQueue create_shared_receive_queue(ibv_pd& domain, std::uint32_t receives);

/// An XRC domain that is not shared with other processes. Throws Error(unavailable) if the device
/// or its provider does not support XRC. Source: ibv_open_xrcd(3).
XrcDomain open_xrc_domain(ibv_context& context);

/// The shared receive queue to which XRC sends are addressed. Receives complete in `completions`.
/// Throws Error(failed). Source: ibv_create_srq_ex(3).
SharedReceiveQueue create_xrc_receive_queue(ibv_pd& domain, ibv_xrcd& xrc_domain,
                                            ibv_cq& completions, std::uint32_t receives);
/// The number by which a peer's sends address the queue. Throws Error(failed).
std::uint32_t xrc_receive_queue_number(ibv_srq& queue);

/// Header fields of packets, and retries. Encoded as in the InfiniBand Architecture
/// Specification, 9.7.5.2.8 and 9.7.6.1.3.
struct PathAttributes {
  std::uint16_t partition_index = 0;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;
  std::uint8_t timeout = 14;  ///< 67 ms without an acknowledgement before the first retry
  /// With that timeout a dead peer is detected after a second or more. Not the maximum 7, which
  /// Soft-RoCE treats as infinite, as in rnr_retries (Linux, drivers/infiniband/sw/rxe/rxe_comp.c).
  std::uint8_t retries = 6;
  std::uint8_t rnr_retries = 7;  ///< infinite: a slow receiver is not an error
  std::uint8_t rnr_timer = 12;   ///< the peer retries 0.64 ms after an RNR NAK
};

/// Capabilities of an EFA device besides sends.
struct ScalableLimits {
  bool reads = false;
  bool writes = false;
  bool rnr_retries = false;          ///< the number of RNR retries can be set; else infinite
  std::uint32_t inline_bytes = 0;    ///< of a send; reads and writes have no inline data
  std::uint32_t max_rdma_bytes = 0;  ///< of a read or a write
};

struct CompletionQueueSpec {
  std::uint32_t sends = 1;     ///< entries for sends; also for receives if `receives` is 0
  std::uint32_t receives = 0;  ///< entries of a separate queue for receives
  bool events = false;         ///< wait_for_event() sleeps; else no event is ever made
  int vector = 0;              ///< completion vector for the events
};

/// Owns the queues and their channel. Thread rule: one thread at a time.
class CompletionQueues {
 public:
  /// Throws Error(failed). Source: ibv_create_cq(3), ibv_create_comp_channel(3).
  CompletionQueues(ibv_context& context, const CompletionQueueSpec& spec);
  ~CompletionQueues();
  CompletionQueues& operator=(CompletionQueues&&) = delete;

  ibv_cq* sends() const noexcept { return all_[0]; }
  ibv_cq* receives() const noexcept { return all_[count_ - 1]; }
  /// Each queue once.
  std::span<ibv_cq* const> all() const noexcept { return {all_.data(), count_}; }

  /// Which call of wait_for_event() failed and its errno; `call` is null after success.
  struct WaitFailure {
    const char* call = nullptr;
    int code = 0;
  };

  /// Call it after polls of all queues came back empty. The first call asks for events and returns
  /// at once, because what completed before it makes none: poll again. The next one sleeps until
  /// there is an event or `at_most` has passed. Source: ibv_get_cq_event(3), ibv_req_notify_cq(3).
  WaitFailure wait_for_event(std::chrono::milliseconds at_most) noexcept;

 private:
  bool arm(WaitFailure& failure) noexcept;
  void take_events(WaitFailure& failure) noexcept;

  CompletionChannel channel_;
  std::array<CompletionQueue, 2> queues_;  ///< after the channel, which they refer to
  std::array<ibv_cq*, 2> all_{};
  std::array<bool, 2> armed_{};
  std::array<unsigned, 2> unacknowledged_{};  ///< a queue cannot be destroyed with any left
  std::uint32_t count_ = 1;
};

/// Access rights of a region, each the minimum for its use.
enum class Access : std::uint8_t {
  local,        ///< local sends, receives, and results of reads
  read_window,  ///< and remote reads
  window,       ///< and remote writes and reads
};

/// The flags of ibv_reg_mr(3).
int access_flags(Access access) noexcept;

/// Registers `bytes`, which must outlive the region, with pinned pages. Throws Error(failed) with
/// likely causes, such as the limit on locked memory with its value. Source:
/// ibv_reg_mr(3), getrlimit(2).
MemoryRegion register_memory(ibv_pd& domain, std::span<std::byte> bytes, Access access);

/// Memory to register: bytes of this process, and the dma-buf that contains them, if any.
struct MemoryArea {
  std::span<std::byte> bytes;
  int dma_buf = -1;                  ///< its descriptor, -1 for none; owned by the caller
  std::uint64_t dma_buf_offset = 0;  ///< of the first byte in the dma-buf
};

enum class Route : std::uint8_t {
  on_demand,    ///< ibv_reg_mr() with IBV_ACCESS_ON_DEMAND: the device pages on demand
  dma_buf,      ///< ibv_reg_dmabuf_mr()
  pinned,       ///< ibv_reg_mr(): the kernel pins the pages
  data_direct,  ///< mlx5dv_reg_dmabuf_mr(): the NIC's own PCIe path to GPU memory
  peer_memory,  ///< ibv_reg_mr() of a GPU address, by nvidia_peermem
  staged,       ///< ibv_reg_mr() of host memory that stages GPU memory
};

/// "on-demand", "dma-buf", "pinned", "data-direct", "nvidia_peermem", "staged".
std::string_view name(Route route) noexcept;

/// "dma-buf, mapping pcie"; "staged", which has no mapping.
std::string route_text(Route route, std::string_view mapping);

struct RegistrationRequest {
  Access access = Access::local;
  int more_access = 0;  ///< ibv_access_flags besides, such as IBV_ACCESS_REMOTE_ATOMIC
  /// The device may reorder its writes; none: as is usual for the memory, and here not.
  std::optional<bool> relaxed_ordering{};
  bool on_demand = false;        ///< required
  bool require_dma_buf = false;  ///< required
  /// Root of /sys, for information about kernel modules; tests pass another folder.
  std::string machine_root = "/";
};

/// A route that was not taken, and why.
struct RegistrationAttempt {
  Route route;
  std::string reason;        ///< one line; with device and errno if a call failed
  std::string mapping = {};  ///< of a dma-buf of GPU memory: "default", "pcie"
};

struct Registration {
  MemoryRegion region;
  Route route = Route::pinned;
  std::string mapping = {};                 ///< of a dma-buf of GPU memory: "default", "pcie"
  std::vector<RegistrationAttempt> others;  ///< all other routes, in the order of attempts
  std::vector<std::string> notes;           ///< on relaxed ordering and on-demand paging
};

/// Registers `area`, which must outlive the region, by the first of these routes that works: only
/// on-demand paging if it is requested; else the dma-buf if there is one; else pinned pages. Remote
/// addresses are always those of the bytes in this process. Do not use the region's `addr`
/// (ibv_reg_dmabuf_mr() keeps the offset there).
///
/// Throws Error(usage) if both on-demand paging and dma-buf are required, Error(unavailable) if the
/// device does not support the required one, Error(failed) with likely causes if the last call
/// failed. Source: ibv_reg_mr(3), ibv_query_device_ex(3).
Registration register_memory(ibv_pd& domain, const MemoryArea& area,
                             const RegistrationRequest& request);

/// Registers by one given route with one call and no query, so that the call can be timed. Throws
/// Error(failed).
MemoryRegion register_by(Route route, ibv_pd& domain, const MemoryArea& area,
                         const RegistrationRequest& request);

// Why a route cannot be used for GPU memory, found without a registration: one line, or "".

/// Tries to register descriptor -1: a driver with support for dma-buf returns EBADF, another one
/// EOPNOTSUPP or EPROTONOSUPPORT. Source: ibv_reg_dmabuf_mr(3).
std::string dma_buf_obstacle(ibv_pd& domain);

/// Checks that libmlx5 has mlx5dv_reg_dmabuf_mr() and that the device has a data-direct function.
/// Source: mlx5dv_reg_dmabuf_mr(3), mlx5dv_get_data_direct_sysfs_path(3).
std::string data_direct_obstacle(ibv_context& context);

/// Checks for the kernel module by which ibv_reg_mr() accepts GPU addresses. `root` is the root of
/// /sys; tests pass another folder. Source: sysfs, module/nvidia_peermem and
/// kernel/mm/memory_peers.
std::string peer_memory_obstacle(const std::string& root = "/");

/// Deregisters like the destructor, and checks the result. Throws Error(failed). Source:
/// ibv_dereg_mr(3).
void deregister(MemoryRegion region);

/// What a device pages on demand over each transport: bits of ibv_odp_transport_cap_bits.
struct OnDemand {
  bool any = false;  ///< IBV_ODP_SUPPORT
  std::uint32_t rc = 0;
  std::uint32_t uc = 0;
  std::uint32_t ud = 0;
  std::uint32_t xrc = 0;
  std::uint32_t dc = 0;  ///< of mlx5 devices
};

/// Throws Error(failed). Source: ibv_query_device_ex(3), mlx5dv_query_device(3).
OnDemand query_on_demand(ibv_context& context);

/// "RC: send receive write read; UD: send"; "no operation"; "" where there is no on-demand paging.
std::string to_text(const OnDemand& has);

/// "send receive": the operations that bits stand for.
std::string on_demand_operations(std::uint32_t bits);

}  // namespace rdmabench::inline v1::verbs

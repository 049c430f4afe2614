// Posting by ibv_wr_post(3): what DC and SRD queue pairs need, whose requests each name their peer,
// and what the newer operations of RC need.
//
// A request is the same ibv_send_wr as elsewhere, built before and edited in place; here it is
// handed over by calls in place of a list.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "rdmabench/features.h"
#include "rdmabench/transport/operation.h"

#if RDMABENCH_HAVE_MLX5
#include <infiniband/mlx5dv.h>
#else
struct mlx5dv_qp_ex;
#endif

namespace rdmabench::inline v1::transport::verbs {

/// How requests are handed over: by ibv_post_send(3), or by ibv_wr_post(3): to a connected queue
/// pair, with a DC target in each, or with a queue pair of SRD in each.
enum class Posting : std::uint8_t { lists, connected, dynamic, scalable };

/// What ibv_wr_post(3) posts to, and the peer where requests name one: UD, DC and SRD.
struct PostDestination {
  ibv_qp_ex* queue_pair = nullptr;  ///< null for UD
  mlx5dv_qp_ex* dynamic = nullptr;  ///< DC: the same queue pair
  ibv_ah* handle = nullptr;
  std::uint32_t number = 0;  ///< of the peer's queue pair, or of its DC target
  std::uint32_t q_key = 0;   ///< UD and SRD
  std::uint64_t dc_key = 0;  ///< DC
};

/// Of all its pieces, which lie one behind the other.
[[gnu::always_inline]] inline std::size_t bytes_of(const ibv_send_wr& request) noexcept {
  std::size_t bytes = 0;
  for (int k = 0; k < request.num_sge; ++k) bytes += request.sg_list[k].length;
  return bytes;
}

/// ibv_wr_flush() of a libibverbs that has it. `Queue` is ibv_qp_ex; it is a parameter so that the
/// name is looked up where this is used.
template <class Queue>
inline constexpr bool kHasFlush = requires(Queue* queue) {
  ibv_wr_flush(queue, 0U, std::uint64_t{0}, std::size_t{0}, std::uint8_t{0}, std::uint8_t{0});
};
inline constexpr std::uint8_t kFlushGlobal = 1;  ///< IBV_FLUSH_GLOBAL
inline constexpr std::uint8_t kFlushRange = 0;   ///< IBV_FLUSH_RANGE

/// Begins a request: what is to be done, and to what.
template <class Op, class Queue>
[[gnu::always_inline]] inline void begin_request(Queue* queue,
                                                 const ibv_send_wr& request) noexcept {
  if constexpr (Op::kTwoSided && !Op::kImmediate) {
    ibv_wr_send(queue);
  } else if constexpr (Op::kTwoSided) {
    ibv_wr_send_imm(queue, request.imm_data);
  } else if constexpr (is_plain_write(Op::kCode)) {
    ibv_wr_rdma_write(queue, request.wr.rdma.rkey, request.wr.rdma.remote_addr);
  } else if constexpr (is_write(Op::kCode)) {
    ibv_wr_rdma_write_imm(queue, request.wr.rdma.rkey, request.wr.rdma.remote_addr,
                          request.imm_data);
  } else if constexpr (Op::kFromTarget && !Op::kAtomic) {
    ibv_wr_rdma_read(queue, request.wr.rdma.rkey, request.wr.rdma.remote_addr);
  } else if constexpr (Op::kCode == OperationCode::fetch_add) {
    ibv_wr_atomic_fetch_add(queue, request.wr.atomic.rkey, request.wr.atomic.remote_addr,
                            request.wr.atomic.compare_add);
  } else if constexpr (Op::kCode == OperationCode::compare_swap) {
    ibv_wr_atomic_cmp_swp(queue, request.wr.atomic.rkey, request.wr.atomic.remote_addr,
                          request.wr.atomic.compare_add, request.wr.atomic.swap);
  } else if constexpr (Op::kFlushes) {
    ibv_wr_flush(queue, request.wr.rdma.rkey, request.wr.rdma.remote_addr, bytes_of(request),
                 kFlushGlobal, kFlushRange);
  } else {
    static_assert(Op::kCode == OperationCode::atomic_write,
                  "begin_request(): a branch for this operation, with its ibv_wr_*(3)");
    // NOLINTNEXTLINE(performance-no-int-to-ptr): verbs carries addresses as integers
    const auto* const word = reinterpret_cast<const void*>(request.sg_list->addr);
    ibv_wr_atomic_write(queue, request.wr.rdma.rkey, request.wr.rdma.remote_addr, word);
  }
}

/// Gives the request its data. Inline data are copied here and now.
[[gnu::always_inline]] inline void add_data(ibv_qp_ex* queue, const ibv_send_wr& request) noexcept {
  if ((request.send_flags & IBV_SEND_INLINE) != 0) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): verbs carries addresses as integers
    ibv_wr_set_inline_data(queue, reinterpret_cast<void*>(request.sg_list->addr),
                           bytes_of(request));
  } else {
    ibv_wr_set_sge_list(queue, static_cast<std::size_t>(request.num_sge), request.sg_list);
  }
}

/// One whole request between ibv_wr_start() and ibv_wr_complete(). The flag IBV_SEND_INLINE stays
/// behind: the setter says it.
template <class Op, Posting kPosting>
[[gnu::always_inline]] inline void add_request(const PostDestination& destination,
                                               const ibv_send_wr& request,
                                               unsigned more_flags) noexcept {
  ibv_qp_ex* const queue = destination.queue_pair;
  queue->wr_id = request.wr_id;
  queue->wr_flags = (request.send_flags & ~unsigned{IBV_SEND_INLINE}) | more_flags;
  begin_request<Op>(queue, request);
  if constexpr (!Op::kExtended) add_data(queue, request);  // those bring their data along
  if constexpr (kPosting == Posting::dynamic) {
#if RDMABENCH_HAVE_MLX5
    mlx5dv_wr_set_dc_addr(destination.dynamic, destination.handle, destination.number,
                          destination.dc_key);
#endif
  } else if constexpr (kPosting == Posting::scalable) {
    ibv_wr_set_ud_addr(queue, destination.handle, destination.number, destination.q_key);
  }
}

}  // namespace rdmabench::inline v1::transport::verbs

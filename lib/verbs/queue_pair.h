// Creates and connects queue pairs.
#pragma once

#include <cstdint>
#include <string_view>

#include "rdmabench/verbs/device.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::inline v1::verbs {

/// "RC", "UC", "UD", "XRC send", "XRC receive".
std::string_view name(ibv_qp_type type) noexcept;

struct QueuePairSpec {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_cq* send_completions = nullptr;
  ibv_cq* receive_completions = nullptr;
  ibv_srq* shared_receives = nullptr;  ///< replaces the receive queue
  ibv_xrcd* xrc_domain = nullptr;      ///< IBV_QPT_XRC_RECV only
  std::uint32_t sends = 1;             ///< outstanding sends
  std::uint32_t receives = 1;          ///< outstanding receives; unused with `shared_receives`
  std::uint32_t segments = 1;          ///< scatter/gather entries of a send; a receive has one
  std::uint32_t inline_bytes = 0;      ///< largest message that is copied into the work request
  std::uint64_t posting = 0;  ///< IBV_QP_EX_WITH_*, for ibv_wr_post(3); 0: ibv_post_send(3)
  bool gpu_memory = false;    ///< messages lie where the processor must not copy: in a GPU's memory
};

struct SizedQueuePair {
  QueuePair queue_pair;
  std::uint32_t inline_bytes;  ///< granted by the device; may differ from the request
  std::uint32_t sends;         ///< what it was created with: the request, or less
  std::uint32_t receives;      ///< the same
};

/// No verb reports the limit of inline data, nor how many requests of a size a queue takes:
/// max_qp_wr of mlx5 devices counts blocks of 64 bytes. So a refused request is tried without
/// inline data, then where it is invalid (EINVAL) with half the sends and receives and so on; with
/// what is taken, the most inline data is found by bisection. Throws Error(failed), and
/// Error(unavailable) for GPU memory where the device's library copies short messages by the
/// processor. Source: ibv_create_qp(3), ibv_create_qp_ex(3); rdma-core, mlx5_calc_sq_size() of
/// providers/mlx5.
SizedQueuePair create_queue_pair(ibv_pd& domain, const QueuePairSpec& spec);

/// Remote access that a queue pair allows.
struct RemoteAccess {
  bool reads_and_writes = true;
  int more = 0;  ///< ibv_access_flags besides, such as IBV_ACCESS_REMOTE_ATOMIC
};

/// RESET to INIT; then receives may be posted. UD uses `q_key`, all other types use `access`.
/// Throws Error(failed). Source: ibv_modify_qp(3).
void initialize(ibv_qp& queue_pair, std::uint8_t port, std::uint16_t partition_index = 0,
                RemoteAccess access = {}, std::uint32_t q_key = 0);

/// Encodes an MTU given in bytes. Throws Error(usage) for an invalid MTU.
ibv_mtu encode_mtu(std::uint32_t bytes);

/// What ibv_modify_qp(3) needs to connect a queue pair: the address of the other one, and the path.
struct ConnectionAttributes {
  std::uint8_t port = 1;        ///< local port
  std::uint32_t gid_index = 0;  ///< local; unused unless `global`
  bool global = false;          ///< packets have a global header; always on RoCE
  std::uint32_t mtu = 0;        ///< bytes: 256, 512, 1024, 2048 or 4096; the same on both sides
  std::uint32_t local_psn = 0;  ///< first local packet sequence number, 24 bits
  std::uint32_t remote_psn = 0;
  std::uint32_t remote_qpn = 0;  ///< 24 bits
  std::uint16_t remote_lid = 0;
  Gid remote_gid{};
  std::uint8_t reads_out = 0;  ///< outstanding reads and atomics: at most the peer's `reads_in`
  std::uint8_t reads_in = 0;   ///< the peer's outstanding reads and atomics
  PathAttributes path{};
};

/// INIT to RTR to RTS, with the attributes of the queue pair's type; UD uses only the port and the
/// packet sequence number. Throws Error(failed) that names the step and what to check, Error(usage)
/// for an invalid MTU. Source: ibv_modify_qp(3).
void connect(ibv_qp& queue_pair, const ConnectionAttributes& connection);

/// Whether the bytes of a write that arrives at `queue_pair` become visible in order, the last one
/// last, and not only up to the path MTU. False where the device or its driver does not say so, and
/// on other processors than x86. Ask once it takes messages: in RTS, of DC the target. Holds for
/// memory of the host without relaxed ordering, and not between writes. Source:
/// ibv_query_qp_data_in_order(3), in rdma-core from 36 on.
bool writes_in_order(ibv_qp& queue_pair) noexcept;

/// The address of a peer for a UD queue pair. Throws Error(failed). Source: ibv_create_ah(3).
AddressHandle create_address_handle(ibv_pd& domain, const ConnectionAttributes& connection);

}  // namespace rdmabench::inline v1::verbs

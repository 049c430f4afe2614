// Scalable reliable datagrams (SRD), which EFA devices alone have: a queue pair that is connected
// to nobody, as UD's, whose messages arrive or fail, in any order.
//
// In a build without libefa no device has them. Source: efadv_create_qp_ex(3),
// efadv_query_device(3); the attributes of each step: Linux, drivers/infiniband/hw/efa/efa_verbs.c.
#pragma once

#include <cstdint>
#include <optional>

#include "rdmabench/verbs/queue_pair.h"

namespace rdmabench::verbs {

/// What an EFA device has beside sends.
struct ScalableLimits {
  bool reads = false;
  bool writes = false;
  bool rnr_retries = false;          ///< how often is ours to say; else for ever
  std::uint32_t inline_bytes = 0;    ///< of a send; reads and writes carry nothing inline
  std::uint32_t max_rdma_bytes = 0;  ///< of a read or a write
};

/// Nothing for a device that has no SRD. Source: efadv_query_device(3).
std::optional<ScalableLimits> query_scalable(ibv_context& context) noexcept;

/// An SRD queue pair for all operations that `limits` names, which is posted to by ibv_wr_post(3).
/// It takes no shared receive queue. Throws Error(failed).
SizedQueuePair create_scalable(ibv_pd& domain, const QueuePairSpec& spec,
                               const ScalableLimits& limits);

/// RESET to INIT; receives may be posted from here on. Throws Error(failed).
void initialize_scalable(ibv_qp& queue_pair, std::uint8_t port, std::uint16_t partition_index,
                         std::uint32_t q_key);

/// INIT to RTR to RTS. Where the peer is, each request says. Throws Error(failed).
void connect_scalable(ibv_qp& queue_pair, const Connection& connection,
                      const ScalableLimits& limits);

}  // namespace rdmabench::verbs

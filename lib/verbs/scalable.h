// Scalable reliable datagrams (SRD) of EFA devices: a queue pair without a connection, like UD,
// whose messages are reliable and unordered.
//
// Without libefa in the build no device supports them. Source: efadv_create_qp_ex(3),
// efadv_query_device(3); the attributes of each step: Linux, drivers/infiniband/hw/efa/efa_verbs.c.
#pragma once

#include <cstdint>
#include <optional>

#include "verbs/queue_pair.h"

namespace rdmabench::inline v1::verbs {

/// Nothing if the device has no SRD. Source: efadv_query_device(3).
std::optional<ScalableLimits> query_scalable(ibv_context& context) noexcept;

/// An SRD queue pair for all operations that `limits` allows; post to it by ibv_wr_post(3). It
/// cannot use a shared receive queue. Throws Error(failed).
SizedQueuePair create_scalable(ibv_pd& domain, const QueuePairSpec& spec,
                               const ScalableLimits& limits);

/// RESET to INIT; receives may be posted from here on. Throws Error(failed).
void initialize_scalable(ibv_qp& queue_pair, std::uint8_t port, std::uint16_t partition_index,
                         std::uint32_t q_key);

/// INIT to RTR to RTS. Each request names its peer. Throws Error(failed).
void connect_scalable(ibv_qp& queue_pair, const ConnectionAttributes& connection,
                      const ScalableLimits& limits);

}  // namespace rdmabench::inline v1::verbs

// Dynamically connected (DC) queue pairs of mlx5 devices. Each request of an initiator names its
// target; a target accepts messages of initiators that have its key.
//
// Without libmlx5 in the build no device supports them. Source: mlx5dv_create_qp(3),
// mlx5dv_wr_post(3); the attributes of each step: Linux, drivers/infiniband/hw/mlx5/qp.c.
#pragma once

#include <cstdint>

#include "verbs/queue_pair.h"

struct mlx5dv_qp_ex;

namespace rdmabench::inline v1::verbs {

/// Whether a device has DC queue pairs. Source: mlx5dv_is_supported(3).
bool has_dynamic(ibv_device& device) noexcept;

/// What is paged on demand over DC: bits of ibv_odp_transport_cap_bits; 0 where that is not told.
/// Source: mlx5dv_query_device(3).
std::uint32_t dynamic_on_demand(ibv_context& context) noexcept;

/// A DC initiator; post to it by ibv_wr_post(3). `spec.receives` is unused, because it cannot
/// receive. Throws Error(failed).
SizedQueuePair create_initiator(ibv_pd& domain, const QueuePairSpec& spec, bool atomics);

/// A DC target. It needs `spec.shared_receives`. Its number is valid after open_target(). Throws
/// Error(failed).
QueuePair create_target(ibv_pd& domain, const QueuePairSpec& spec, std::uint64_t key);

/// The argument of mlx5dv_wr_set_dc_addr(). Source: mlx5dv_wr_post(3).
mlx5dv_qp_ex* dynamic_requests(ibv_qp& initiator) noexcept;

/// RESET to INIT of an initiator; a target takes verbs::initialize(). Throws Error(failed).
void initialize_initiator(ibv_qp& initiator, std::uint8_t port, std::uint16_t partition_index);

/// INIT to RTR: then the target has a number and accepts messages. Uses port, GID, MTU and path of
/// `here`, and nothing of a peer. Throws Error(failed).
void open_target(ibv_qp& target, const ConnectionAttributes& here);

/// INIT to RTR to RTS. Each request names its peer. Throws Error(failed).
void connect_initiator(ibv_qp& initiator, const ConnectionAttributes& connection);

}  // namespace rdmabench::inline v1::verbs

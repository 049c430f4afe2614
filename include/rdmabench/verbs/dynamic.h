// Dynamically connected (DC) queue pairs, which mlx5 devices alone have. An initiator sends to the
// target that each of its requests names; a target takes what initiators send that know its key.
//
// In a build without libmlx5 no device has them. Source: mlx5dv_create_qp(3), mlx5dv_wr_post(3);
// the attributes of each step: Linux, drivers/infiniband/hw/mlx5/qp.c.
#pragma once

#include <cstdint>

#include "rdmabench/verbs/queue_pair.h"

struct mlx5dv_qp_ex;

namespace rdmabench::verbs {

/// Whether a device has DC queue pairs. Source: mlx5dv_is_supported(3).
bool has_dynamic(ibv_device& device) noexcept;

/// A DC initiator, which is posted to by ibv_wr_post(3). `spec.receives` is unused: it receives
/// nothing. Throws Error(failed).
SizedQueuePair create_initiator(ibv_pd& domain, const QueuePairSpec& spec, bool atomics);

/// A DC target, whose receives are those of `spec.shared_receives`; it cannot be without. Its
/// number is none before open_target(). Throws Error(failed).
QueuePair create_target(ibv_pd& domain, const QueuePairSpec& spec, std::uint64_t key);

/// What mlx5dv_wr_set_dc_addr() takes. Source: mlx5dv_wr_post(3).
mlx5dv_qp_ex* dynamic_requests(ibv_qp& initiator) noexcept;

/// RESET to INIT of an initiator; a target takes verbs::initialize(). Throws Error(failed).
void initialize_initiator(ibv_qp& initiator, std::uint8_t port, std::uint16_t partition_index);

/// INIT to RTR: from here on the target has a number and takes messages. Of `here` it needs the
/// port, the GID, the MTU and the path; it is no single peer's. Throws Error(failed).
void open_target(ibv_qp& target, const Connection& here);

/// INIT to RTR to RTS. Where the peer is, each request says. Throws Error(failed).
void connect_initiator(ibv_qp& initiator, const Connection& connection);

}  // namespace rdmabench::verbs

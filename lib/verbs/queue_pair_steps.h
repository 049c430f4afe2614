// What the makers of all kinds of queue pairs share. Private to this room.
#pragma once

#include <functional>
#include <string_view>

#include "verbs/queue_pair.h"

namespace rdmabench::inline v1::verbs {

/// The send queue that `spec` asks for, and the receive queue or the shared one.
void add_sends(ibv_qp_init_attr_ex& attributes, const QueuePairSpec& spec);
void add_receives(ibv_qp_init_attr_ex& attributes, const QueuePairSpec& spec);

using CreateQueuePair = std::function<ibv_qp*(ibv_qp_init_attr_ex&)>;

/// Calls `create` with less until it succeeds, as create_queue_pair() tells. Throws Error(failed)
/// that names `type`.
SizedQueuePair create_sized(ibv_pd& domain, std::string_view type,
                            const ibv_qp_init_attr_ex& wanted, const CreateQueuePair& create);

/// ibv_modify_qp(3). Throws Error(failed) that names `step`, with `remedy` or the one of
/// setup_error.h.
void modify(ibv_qp& queue_pair, ibv_qp_attr attributes, int mask, std::string_view step,
            std::string_view remedy = {});

/// How packets get there.
ibv_ah_attr address_vector(const ConnectionAttributes& connection);

// Where a device's library delivers short messages: into a completion, from where it copies them to
// their address by the processor. A GPU's address it must not touch: that ends the process.
//
// - mlx5: receives of RC, UC and DC, and the answers of reads and atomics. They have up to 32
// bytes,
//   or 64 where completions have 128. A queue pair can be made without it, a DC target from
//   rdma-core 24 on.
// - hns: receives of RC, of shared receive queues too. Each queue pair has it.
//
// Source: rdma-core 65, providers/mlx5/qp.c (copy_to_scat()), providers/hns/hns_roce_u_hw_v2.c
// (handle_recv_cqe_inl_from_rq(), handle_recv_cqe_inl_from_srq()); no other provider copies what a
// completion brought.

/// How to create a queue pair of `spec`: by ibv_create_qp_ex(3), or where messages lie in a GPU's
/// memory and the device is mlx5, by mlx5dv_create_qp(3) with all of them delivered to their
/// address. Throws Error(unavailable) where the messages of a GPU would be copied by the processor.
CreateQueuePair creator(ibv_pd& domain, const QueuePairSpec& spec);

/// Throws that Error.
[[noreturn]] void refuse_gpu_memory(const ibv_pd& domain, std::string_view remedy);

}  // namespace rdmabench::inline v1::verbs

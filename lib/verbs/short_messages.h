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
#pragma once

#include <string_view>

#include "verbs/queue_pair.h"
#include "verbs/queue_pair_steps.h"

namespace rdmabench::inline v1::verbs {

/// How to create a queue pair of `spec`: by ibv_create_qp_ex(3), or where messages lie in a GPU's
/// memory and the device is mlx5, by mlx5dv_create_qp(3) with all of them delivered to their
/// address. Throws Error(unavailable) where the messages of a GPU would be copied by the processor.
CreateQueuePair creator(ibv_pd& domain, const QueuePairSpec& spec);

/// Throws that Error.
[[noreturn]] void refuse_gpu_memory(const ibv_pd& domain, std::string_view remedy);

}  // namespace rdmabench::inline v1::verbs

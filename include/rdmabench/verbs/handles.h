// verbs: libibverbs objects, owned by type, and what a device, a port and a GID are.
//
// Mechanism only: it never posts in a loop, never reads a clock, and knows nothing but base. Set-up
// throws Error; what says noexcept may be called on the data path.
//
// This file holds the owned objects that need no more than a call to make.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "rdmabench/base/handle.h"

namespace rdmabench::verbs {

using DeviceList = Handle<ibv_device*, ibv_free_device_list>;
using Context = Handle<ibv_context, ibv_close_device>;
using ProtectionDomain = Handle<ibv_pd, ibv_dealloc_pd>;
using CompletionQueue = Handle<ibv_cq, ibv_destroy_cq>;
using MemoryRegion = Handle<ibv_mr, ibv_dereg_mr>;
using QueuePair = Handle<ibv_qp, ibv_destroy_qp>;

/// Source: ibv_alloc_pd(3). Throws Error(failed).
ProtectionDomain allocate_protection_domain(ibv_context& context);

/// A completion queue of at least `entries` that is polled, never waited for. Throws Error(failed);
/// the caller checks `entries` against the device's max_cqe first. Source: ibv_create_cq(3).
CompletionQueue create_completion_queue(ibv_context& context, std::uint32_t entries);

}  // namespace rdmabench::verbs

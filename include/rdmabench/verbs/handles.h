// verbs: owned libibverbs objects, and descriptions of devices, ports and GIDs.
//
// It never posts in a loop and never measures. Set-up throws Error; functions that are noexcept may
// be called on the data path.
//
// This file has the objects that one call creates.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

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

}  // namespace rdmabench::inline v1::verbs

// Registers memory of any kind with a device. The memory of a GPU is registered by the first
// possible route in a fixed order; all other kinds by verbs::register_memory().
#pragma once

#include <string>
#include <vector>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::inline v1::transport::verbs {

/// A route by which a GPU's memory is registered, and the mapping of its dma-buf.
struct GpuRoute {
  rdmabench::verbs::Route route;
  memory::GpuMapping mapping;  ///< of data-direct and dma-buf; else `automatic`

  bool operator==(const GpuRoute&) const = default;
};

/// All routes, in the order in which they are tried.
std::vector<GpuRoute> gpu_routes();

bool by_dma_buf(const GpuRoute& gpu_route) noexcept;

/// "default", "pcie"; "" for a route without a dma-buf.
std::string mapping_text(const GpuRoute& gpu_route);

/// "dma-buf, mapping pcie"; "staged".
std::string to_text(const GpuRoute& gpu_route);

/// Prepares GPU memory for this route: checks whether the route is possible, exports the dma-buf,
/// or replaces data() by pinned host memory, which cannot be undone. Returns the area to register
/// by gpu_route.route. Throws Error that says why the route is not possible.
rdmabench::verbs::MemoryArea ready(ibv_pd& domain, memory::Buffer& memory,
                                   const GpuRoute& gpu_route,
                                   const std::string& machine_root = "/");

/// Registers all of `memory`, which must outlive the region.
///
/// GPU memory is registered by the first of these routes that works: data-direct, if libmlx5 and
/// the device support it; its dma-buf in the driver's default mapping; its dma-buf in the PCIe
/// mapping; its address, by nvidia_peermem; staged through pinned host memory (then
/// memory.gpu()->staged() is true). The result has the reasons against all others. Unless `how`
/// says otherwise the device may reorder its writes into a GPU's memory: without that many hosts
/// halve its bandwidth, so that NCCL and perftest allow it as well. `where.gpu_mapping` other than
/// automatic and `how.require_dma_buf` restrict the routes; if those fail, it throws
/// Error(unavailable) with all reasons. A registered route may still not transfer bytes, so the
/// caller must verify a transfer first. A route that failed there is in `where.failed_routes` and
/// is skipped, unless it is the last.
///
/// Source: nvidia's GPUDirect RDMA guide; ibv_reg_dmabuf_mr(3); mlx5dv_reg_dmabuf_mr(3).
rdmabench::verbs::Registration register_buffer(ibv_pd& domain, memory::Buffer& memory,
                                               const memory::Request& where,
                                               const rdmabench::verbs::RegistrationRequest& how);

}  // namespace rdmabench::inline v1::transport::verbs

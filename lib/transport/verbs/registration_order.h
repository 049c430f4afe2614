// Registers memory of any kind with a device. The memory of a GPU is registered by the first
// possible way in a fixed order; all other kinds by verbs::register_memory().
#pragma once

#include <string>
#include <vector>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/verbs/registration.h"

namespace rdmabench::transport::verbs {

/// One way to register a GPU's memory.
struct GpuWay {
  rdmabench::verbs::Route route;
  memory::GpuMapping mapping;  ///< of data-direct and dma-buf; else `automatic`

  bool operator==(const GpuWay&) const = default;
};

/// All of them, in the order in which they are tried.
std::vector<GpuWay> gpu_ways();

/// Whether it needs a dma-buf of the memory.
bool by_dma_buf(const GpuWay& way) noexcept;

/// "default", "pcie"; "" where it is none of a dma-buf.
std::string mapping_text(const GpuWay& way);

/// "dma-buf, mapping pcie"; "staged".
std::string to_text(const GpuWay& way);

/// Readies `memory`, a GPU's, for this way: looks for what stands against it, exports the dma-buf,
/// or puts pinned host memory in its place, which is for good. What is then registered by
/// way.route is the area that comes back. Throws Error that says what stands against it.
rdmabench::verbs::MemoryArea ready(ibv_pd& domain, memory::Buffer& memory, const GpuWay& way,
                                   const std::string& machine_root = "/");

/// Registers all of `memory`, which must outlive the region.
///
/// A GPU's by the first way that works, all others with the reason why not: data-direct where
/// libmlx5 and the device have it; its dma-buf in the driver's default mapping, then in the PCIe
/// mapping; its address, by nvidia_peermem; pinned host memory in its place (memory.gpu()->staged()
/// from then on). `where.gpu_mapping` other than automatic, and `how.require_dma_buf`, leave only
/// the ways that they name, and Error(unavailable) with every reason when those fail. What
/// registers may still not arrive, so a transfer is to be verified before any is timed; a way that
/// failed so is named in `where.failed_ways` and left out, but for the last.
///
/// Source: nvidia's GPUDirect RDMA guide; ibv_reg_dmabuf_mr(3); mlx5dv_reg_dmabuf_mr(3).
rdmabench::verbs::Registration register_buffer(ibv_pd& domain, memory::Buffer& memory,
                                               const memory::Request& where,
                                               const rdmabench::verbs::RegistrationRequest& how);

}  // namespace rdmabench::transport::verbs

// Whether what a NIC wrote into a GPU's memory can be read there once its completion is seen.
#pragma once

#include <string>

#include "gpu/context.h"

namespace rdmabench::gpu {

/// What must come between a completion and a kernel that reads what arrived.
struct FlushRule {
  bool needed = false;     ///< by a kernel of the GPU that owns the memory
  bool by_driver = false;  ///< flush_writes() does it; else only a read of the NIC itself
  std::string text;        ///< "not needed: ...", "cuFlushGPUDirectRDMAWrites: ..."
};

/// Source: CUDA Driver API, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING and
/// CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS.
FlushRule flush_rule(const DeviceInfo& device);

/// cuFlushGPUDirectRDMAWrites() of the context's device, to its owner. Throws Error(unavailable)
/// where it cannot be called, Error(failed).
void flush_writes(const Context& context);

}  // namespace rdmabench::gpu

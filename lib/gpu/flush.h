// Flushes: makes writes of a NIC visible in GPU memory after their completion.
#pragma once

#include <string>

#include "gpu/context.h"

namespace rdmabench::inline v1::gpu {

/// What is needed between a completion and a kernel that reads the received bytes.
struct FlushRule {
  bool needed = false;     ///< for a kernel of the GPU that owns the memory
  bool by_driver = false;  ///< by flush_writes(); else only by a read of the NIC
  std::string text;        ///< "not needed: ...", "cuFlushGPUDirectRDMAWrites: ..."
};

/// Source: CUDA Driver API, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING and
/// CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS; on a GPU with a coherent link these do
/// not decide.
FlushRule flush_rule(const DeviceInfo& device);

/// Calls cuFlushGPUDirectRDMAWrites() for the context's device. Throws Error(unavailable) if it is
/// not available, Error(failed).
void flush_writes(const Context& context);

}  // namespace rdmabench::inline v1::gpu

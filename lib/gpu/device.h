// The GPUs that are visible to this process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1::gpu {

struct Driver;

/// A value, with the numbers of the driver. Source: CUDA Driver API, cuDeviceGetAttribute.
struct DeviceInfo {
  int ordinal = 0;  ///< in this process: CUDA_VISIBLE_DEVICES renumbers
  std::string name;
  std::string uuid;                ///< "GPU-5d1d2b0c-..."
  std::string pci_address;         ///< "0000:1b:00.0"
  std::uint64_t memory_bytes = 0;  ///< total
  int major = 0;                   ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
  bool dma_buf = false;     ///< memory can be exported as a dma-buf
  bool vmm = false;         ///< cuMemCreate, cuMemMap
  bool vmm_rdma = false;    ///< ... of memory that a NIC can reach
  bool coherent = false;    ///< a coherent link to the CPU (NVLink-C2C) besides PCIe
  int writes_ordering = 0;  ///< which readers need no flush: 0 none, 100 the owner, 200 all
  int flush_options = 0;    ///< bit 0: cuFlushGPUDirectRDMAWrites works
};

/// In the order of their ordinals. Throws as driver(), and Error(unavailable) if there is none.
std::vector<DeviceInfo> devices();

/// The same with a driver that the caller has loaded.
std::vector<DeviceInfo> devices(const Driver& driver);

/// Finds a GPU by "0" (ordinal), "0000:1b:00.0" or "1b:00.0" (PCI address), or "GPU-5d1d..." (UUID
/// or a unique prefix). Throws Error(usage) that lists the GPUs.
DeviceInfo find_device(std::string_view text);

/// The same among `known`.
DeviceInfo find_device(std::string_view text, const std::vector<DeviceInfo>& known);

/// "cuda:0 NVIDIA H100 80GB HBM3, 0000:1b:00.0, 79.6 GiB, compute capability 9.0".
std::string to_text(const DeviceInfo& device);

}  // namespace rdmabench::inline v1::gpu

// A GPU's memory as a dma-buf, by which a NIC's driver reaches it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/allocation.h"

namespace rdmabench::gpu {

/// By which addresses the NIC reaches the memory. On a GPU that hangs on PCIe alone they are the
/// same; on one with a coherent link to the CPU (GH200, GB200) the standard mapping goes over that
/// link, and only the PCIe mapping, of driver 12.8 and newer, over the GPU's BAR1.
enum class DmaBufMapping : std::uint8_t {
  automatic,  ///< PCIe where the GPU has a coherent link and the driver agrees, else standard
  standard,
  pcie,
};

/// "auto", "standard", "pcie".
std::string_view name(DmaBufMapping mapping) noexcept;
/// Throws Error(usage) that lists the names.
DmaBufMapping parse_dma_buf_mapping(std::string_view text);

/// Owns the descriptor, which may be closed once memory has been registered with it.
class DmaBuf {
 public:
  DmaBuf() = default;
  DmaBuf(int descriptor, std::uint64_t offset, std::uint64_t bytes, DmaBufMapping mapping,
         std::string reason) noexcept;
  ~DmaBuf();
  DmaBuf(DmaBuf&& other) noexcept;
  DmaBuf& operator=(DmaBuf&& other) noexcept;
  DmaBuf(const DmaBuf&) = delete;
  DmaBuf& operator=(const DmaBuf&) = delete;

  /// -1 for none; 0 is a descriptor.
  int descriptor() const noexcept { return descriptor_; }
  /// Where in the dma-buf the first byte asked for is: `offset` of ibv_reg_dmabuf_mr(3).
  std::uint64_t offset() const noexcept { return offset_; }
  /// Of the whole dma-buf: host pages.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// standard or pcie.
  DmaBufMapping mapping() const noexcept { return mapping_; }
  /// Why that mapping: "standard: the GPU is on PCIe alone", "standard: PCIe was refused: ...".
  const std::string& reason() const noexcept { return reason_; }

 private:
  int descriptor_ = -1;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
  DmaBufMapping mapping_ = DmaBufMapping::standard;
  std::string reason_;
};

/// The host pages that hold the range; of this one's range they must all be the context's memory.
/// Throws Error(unavailable) where device, driver or the mapping asked for cannot do it,
/// Error(failed) where it could not now, Error(usage) for an empty range. Only `automatic` falls
/// back. Source: CUDA Driver API, cuMemGetHandleForAddressRange.
DmaBuf export_dma_buf(const Context& context, DevicePointer data, std::uint64_t bytes,
                      DmaBufMapping mapping = DmaBufMapping::automatic);

/// The whole allocation.
DmaBuf export_dma_buf(const Allocation& allocation,
                      DmaBufMapping mapping = DmaBufMapping::automatic);

}  // namespace rdmabench::gpu

// Exports GPU memory as a dma-buf, by which a NIC's driver can access it.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "gpu/allocation.h"

namespace rdmabench::inline v1::gpu {

/// The path by which the NIC accesses the memory. On a GPU with only PCIe both mappings are the
/// same. On a GPU with a coherent link to the CPU (GH200, GB200) the standard mapping uses that
/// link; the PCIe mapping (driver 12.8 and newer) uses the GPU's BAR1.
enum class DmaBufMapping : std::uint8_t {
  automatic,  ///< PCIe if the GPU has a coherent link and the driver supports it, else standard
  standard,
  pcie,
};

/// Owns the descriptor. It may be closed after the memory is registered.
class DmaBuf {
 public:
  DmaBuf() = default;
  DmaBuf(int descriptor, std::uint64_t offset, std::uint64_t bytes, DmaBufMapping mapping,
         std::string reason) noexcept;

  /// -1 for none.
  int descriptor() const noexcept { return descriptor_.get(); }
  /// Offset of the first requested byte: `offset` of ibv_reg_dmabuf_mr(3).
  std::uint64_t offset() const noexcept { return offset_; }
  /// Size of the whole dma-buf: whole host pages.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// standard or pcie.
  DmaBufMapping mapping() const noexcept { return mapping_; }
  /// Why this mapping was chosen: "standard: the GPU has only PCIe".
  const std::string& reason() const noexcept { return reason_; }

 private:
  Descriptor descriptor_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
  DmaBufMapping mapping_ = DmaBufMapping::standard;
  std::string reason_;
};

/// Exports the host pages that contain the range; all of them must be memory of the context. Throws
/// Error(unavailable) if the device, the driver or the mapping does not support it, Error(failed)
/// if the export fails, Error(usage) for an empty range. Only `automatic` tries another mapping.
/// Source: CUDA Driver API, cuMemGetHandleForAddressRange.
DmaBuf export_dma_buf(const Context& context, DevicePointer data, std::uint64_t bytes,
                      DmaBufMapping mapping = DmaBufMapping::automatic);

/// Exports the whole allocation.
DmaBuf export_dma_buf(const Allocation& allocation,
                      DmaBufMapping mapping = DmaBufMapping::automatic);

}  // namespace rdmabench::inline v1::gpu

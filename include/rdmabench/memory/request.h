// Requests memory for messages: kind, place and options.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rdmabench::inline v1::memory {

enum class Kind : std::uint8_t {
  host,    ///< anonymous pages of the usual size
  huge,    ///< huge pages (hugetlbfs)
  file,    ///< a mapped file or device: persistent memory, PCIe peer memory
  dmabuf,  ///< pages of a memfd with a dma-buf descriptor (udmabuf)
  cuda,    ///< memory of an NVIDIA GPU, which host code must not access
};

/// "host", "huge", "file", "dmabuf", "cuda".
std::string_view name(Kind kind) noexcept;

/// The NUMA node of the pages.
struct Numa {
  enum class Place : std::uint8_t {
    any,   ///< any node
    near,  ///< the RDMA device's node if it is known, else any
    node,  ///< exactly the node `number`
  };
  Place place = Place::any;
  int number = 0;

  bool operator==(const Numa&) const = default;
};

/// How a dma-buf of GPU memory maps it for a device. All values but `automatic` are mandatory.
enum class GpuMapping : std::uint8_t {
  automatic,    ///< data-direct if the device supports it, then `standard`, then `pcie`
  standard,     ///< the driver's default: on GH200 and GB200 the chip-to-chip link
  pcie,         ///< the GPU's PCIe window (CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE)
  data_direct,  ///< PCIe, registered by mlx5dv_reg_dmabuf_mr() for the NIC's own PCIe path
};

inline constexpr std::array<std::string_view, 4> kGpuMappingNames{"auto", "default", "pcie",
                                                                  "data-direct"};

constexpr std::string_view name(GpuMapping mapping) {
  return kGpuMappingNames[static_cast<std::size_t>(mapping)];
}

/// Routes by which GPU memory was registered with a NIC that succeeded, but then transferred wrong
/// bytes or none: of transport::Description::memory_routes, with the reason.
using FailedRoutes = std::map<std::string, std::string>;

/// A value. One request can be used for several buffers, see next().
struct Request {
  Kind kind = Kind::host;
  std::uint64_t huge_page_bytes = 0;  ///< of `huge`: a power of two; 0 for the default
  std::string path = {};              ///< of `file`
  std::uint64_t offset = 0;           ///< of `file`: a multiple of the page size
  std::string gpu = {};               ///< of `cuda`: index, PCI address, "GPU-..." or "auto"
  bool vmm = false;                   ///< of `cuda`: cuMemCreate() instead of cuMemAlloc()
  GpuMapping gpu_mapping = GpuMapping::automatic;
  FailedRoutes failed_routes = {};  ///< of `cuda`: not to be used again
  std::uint64_t unaligned = 0;      ///< offset of the first byte in its page, bytes
  Numa numa = {};
  /// Memory of the caller, `host` or `cuda`: the buffer uses it in place, neither owns nor writes
  /// it. Null: the buffer allocates.
  std::byte* existing = nullptr;
  /// The NIC for Place::near, an RDMA device, a network device or a PCI function: "mlx5_0", "eth0",
  /// "0000:1b:00.0"; "" for none.
  std::string device = {};

  bool operator==(const Request&) const = default;
};

/// "host", "huge", "huge:2M", "huge:1G", "file:PATH", "file:PATH@OFFSET", "dmabuf" (which is
/// "dmabuf:udmabuf"), "cuda:0", "cuda:0000:1b:00.0", "cuda:GPU-UUID", "cuda:auto" (the GPU near
/// the device, also plain "cuda"), each of these also with ",vmm". If a digit follows the last @ of
/// a path, the offset begins there. Whether the GPU exists is not checked. Throws Error(usage) that
/// names the text and the valid forms.
Request parse_request(std::string_view text);

/// "auto" (near the device), "none" (any node) or the number of a node. Throws Error(usage).
Numa parse_numa(std::string_view text);

/// The kind in the form of parse_request().
std::string to_text(const Request& request);

/// Throws Error where the request is for a GPU that is not here; allocates nothing.
void check_available(const Request& request);

/// The request for the next buffer after one of `bytes`. In a file it gets another offset.
Request next(Request request, std::uint64_t bytes);

}  // namespace rdmabench::inline v1::memory

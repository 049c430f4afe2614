// Where messages are to lie, as a caller asks for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::memory {

enum class Kind : std::uint8_t {
  host,    ///< anonymous pages of the usual size
  huge,    ///< pages of hugetlbfs' pool
  file,    ///< a file or a device that can be mapped: persistent memory, a PCIe peer's memory
  dmabuf,  ///< pages of a memfd that also have a dma-buf descriptor (udmabuf)
  cuda,    ///< memory of an NVIDIA GPU, which no code of the host may touch
};

/// "host", "huge", "file", "dmabuf", "cuda".
std::string_view name(Kind kind) noexcept;

/// On which NUMA node the pages are to lie.
struct Numa {
  enum class Place : std::uint8_t {
    any,   ///< wherever the kernel puts them
    near,  ///< on the RDMA device's node where that is known, else anywhere
    node,  ///< on `number`, or not at all
  };
  Place place = Place::any;
  int number = 0;

  bool operator==(const Numa&) const = default;
};

/// How a GPU's dma-buf gives its memory to a device. All but `automatic` are demands.
enum class GpuMapping : std::uint8_t {
  automatic,    ///< data-direct where the device says that it has it, then `standard`, then `pcie`
  standard,     ///< the driver's default: on GH200 and GB200 addresses of the chip-to-chip link
  pcie,         ///< through the GPU's PCIe window (CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE)
  data_direct,  ///< that, registered by mlx5dv_reg_dmabuf_mr() for the NIC's own PCIe path
};

inline constexpr std::array<std::string_view, 4> kGpuMappingNames{"auto", "default", "pcie",
                                                                  "data-direct"};

constexpr std::string_view name(GpuMapping mapping) {
  return kGpuMappingNames[static_cast<std::size_t>(mapping)];
}

/// A way to make a GPU's memory known to a NIC that registered, and then moved wrong bytes or none.
struct FailedWay {
  std::string way;  ///< as a back end names it in the fact memory_route
  std::string reason;

  bool operator==(const FailedWay&) const = default;
};

/// A value; one request can serve for several buffers, see next().
struct Request {
  Kind kind = Kind::host;
  std::uint64_t huge_page_bytes = 0;  ///< of `huge`: a power of two; 0 for the machine's default
  std::string path = {};              ///< of `file`
  std::uint64_t offset = 0;           ///< of `file`: where in it to begin, whole pages
  std::string gpu = {};               ///< of `cuda`: an index, a PCI address, "GPU-...", "auto"
  bool vmm = false;                   ///< of `cuda`: by cuMemCreate() instead of cuMemAlloc()
  GpuMapping gpu_mapping = GpuMapping::automatic;
  std::vector<FailedWay> failed_ways = {};  ///< of `cuda`: not to be taken again
  std::uint64_t unaligned = 0;              ///< bytes from the start of a page to the first byte
  Numa numa = {};
  std::string device = {};  ///< the RDMA device that Place::near means: "mlx5_0"; "" for none

  bool operator==(const Request&) const = default;
};

/// "host", "huge", "huge:2M", "huge:1G", "file:PATH", "file:PATH@OFFSET", "dmabuf" (which is
/// "dmabuf:udmabuf"), "cuda:0", "cuda:0000:1b:00.0", "cuda:GPU-UUID", "cuda:auto" (the GPU near
/// the device, also plain "cuda"), each of these also with ",vmm". Behind the last @ of a path
/// stands an offset when it begins with a digit. Whether there is such a GPU is not looked at.
/// Throws Error(usage) that names the text and the right forms.
Request parse_request(std::string_view text);

/// "auto" (near the device), "none" (anywhere) or a node's number. Throws Error(usage).
Numa parse_numa(std::string_view text);

/// "auto", "default", "pcie" or "data-direct". Throws Error(usage).
GpuMapping parse_gpu_mapping(std::string_view text);

/// What parse_request() takes back, of the kind alone.
std::string to_text(const Request& request);

/// Throws Error where the request is for a GPU that is not here; allocates nothing.
void check_here(const Request& request);

/// The request for the buffer after one of `bytes`: in a file it must not lie over the first.
Request next(Request request, std::uint64_t bytes);

}  // namespace rdmabench::memory

// memory: allocates the memory of messages, and writes and checks its content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/features.h"

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

class GpuMemory;
class Mapping;

/// How many of a buffer's pages are on a NUMA node.
struct NodePages {
  int node;             ///< -1: unknown, for example for memory of a device
  std::uint64_t pages;  ///< of Buffer::page_bytes()

  bool operator==(const NodePages&) const = default;
};

/// "node 0: 16 pages, node 1: 3 pages"; "unknown" for none.
std::string to_text(const std::vector<NodePages>& pages);

/// Memory of the requested kind, which it owns unless it is Request::existing. All pages are
/// touched, so that a run has no page faults. New pages are zero; a file keeps its content. If
/// gpu() is not null, the bytes are GPU memory, which host code must not access. Thread rule: a
/// value without locks; one owner.
class Buffer {
 public:
  Buffer() noexcept;
  /// Page-aligned host memory on any NUMA node. Throws as the other constructor.
  explicit Buffer(std::uint64_t bytes);
  /// Throws Error(usage) if `bytes` is 0 or the request is invalid, Error(unavailable) if this
  /// machine has no such memory, Error(failed) if it cannot be allocated now or if pages are not on
  /// the node of Place::node.
  Buffer(const Request& request, std::uint64_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const noexcept { return data_; }
  std::uint64_t size() const noexcept { return size_; }
  std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Page size: 4096, or that of huge pages or of the GPU.
  std::uint64_t page_bytes() const noexcept;
  /// The descriptor of the dma-buf that contains the bytes, -1 for none. Owned by the buffer.
  int dma_buf() const noexcept;
  /// Offset of data() in the dma-buf.
  std::uint64_t dma_buf_offset() const noexcept;

  /// Null for host memory.
  GpuMemory* gpu() const noexcept { return gpu_.get(); }
  /// For GPU memory: data() becomes pinned host memory. See GpuMemory::stage_through_host().
  void stage_through_host();

  /// The choice of the NUMA node: "requested: node 0, near mlx5_0", "any node: ..."
  const std::string& placement() const noexcept { return placement_; }
  /// The NUMA nodes of the pages now; empty for GPU memory.
  std::vector<NodePages> nodes() const;

 private:
  std::unique_ptr<Mapping> mapping_;  ///< null for a GPU's memory
  std::unique_ptr<GpuMemory> gpu_;
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  std::string placement_;
};

/// Bytes from one message slot to the next: `size` rounded up to whole cache lines of 64 bytes.
constexpr std::uint64_t slot_stride(std::uint64_t size) {
  return (size + 63) / 64 * 64;
}

/// Fills a message with the pattern that validation checks. Every byte depends on `tag` and on its
/// position, so that a missing, stale or moved byte and a byte of another message are detected. The
/// last byte is `tag`, so it differs between messages of different tags.
void fill_pattern(std::span<std::byte> message, std::uint8_t tag) noexcept;

/// The position of the first wrong byte of a message; nothing if all bytes are right.
std::optional<std::uint64_t> find_mismatch(std::span<const std::byte> message,
                                           std::uint8_t tag) noexcept;

}  // namespace rdmabench::inline v1::memory

// GPU memory for messages, with patterns that the GPU itself writes and compares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/pci_path.h"
#include "gpu/allocation.h"
#include "gpu/dma_buf.h"
#include "gpu/flush.h"
#include "gpu/kernels.h"
#include "gpu/pinned_host.h"
#include "gpu/stream.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::memory {

/// Time of one copy between GPU memory and pinned host memory.
struct CopyTimes {
  std::uint64_t bytes = 0;
  double to_device_ns = 0;    ///< median
  double from_device_ns = 0;  ///< median
};

/// How far the GPU that a request names is from a NIC, as device_folder() takes it; nothing where
/// it names none: "auto" is the GPU near the NIC. Throws Error for a GPU that is not here.
std::optional<PciDistance> distance_to_gpu(const Request& request, std::string_view nic);

/// A zeroed allocation on a GPU, or memory of the caller (Request::existing) left as it is. Host
/// code must not access data() before stage_through_host(). After it data() is pinned host memory,
/// which the NIC transfers; the patterns are still written and read in the GPU's memory.
///
/// Offsets are relative to data(). Every wait is limited to 10 seconds. If GPU and driver report
/// that kernels may not see the NIC's writes at once, reading calls flush first
/// (gpu::flush_rule()), if necessary by the function of flush_by().
///
/// Thread rule: a value without locks; one thread at a time.
class GpuMemory {
 public:
  /// The request must be of Kind::cuda. Throws Error(unavailable) if there is no driver or no GPU,
  /// Error(usage) for an unknown GPU, with a list of the GPUs, and Error(failed) if the memory
  /// cannot be allocated.
  GpuMemory(const Request& request, std::uint64_t bytes);

  std::byte* data() const noexcept;
  std::uint64_t size() const noexcept { return size_; }
  const gpu::DeviceInfo& device() const noexcept { return context_.device(); }
  /// "cuda:0 NVIDIA H100 ..., near mlx5_0: PIX, ..."
  const std::string& choice() const noexcept { return choice_; }
  /// "plain allocation; SYNC_MEMOPS set; ..."
  std::string facts() const;

  /// Whether only a read by the NIC makes its writes visible. Then call flush_by() or no_flush().
  bool needs_nic_read() const noexcept { return flush_.needed && !flush_.by_driver; }
  /// Sets `read` as the flush, which is called before received bytes are read. `what` describes it
  /// for flush_text(). Its errors are rethrown as "the flush failed: ...".
  void flush_by(std::function<void()> read, std::string what);
  /// Says for flush_text() why such a read is not possible.
  void no_flush(std::string why) { no_flush_ = std::move(why); }
  /// How received bytes are made visible before they are read, or that they are not.
  std::string flush_text() const;

  /// Exports the whole allocation and closes the previous export. `automatic` lets the driver
  /// choose; `data_direct` uses the PCIe mapping. Throws as gpu::export_dma_buf().
  const gpu::DmaBuf& export_dma_buf(GpuMapping mapping);
  const gpu::DmaBuf& dma_buf() const noexcept { return dma_buf_; }
  /// Offset of data() in the dma-buf.
  std::uint64_t dma_buf_offset() const noexcept { return dma_buf_.offset() + start_; }

  bool staged() const noexcept { return host_.has_value(); }
  /// Call it at most once, and before the memory is registered. Throws Error(failed).
  void stage_through_host();

  /// Writes `count` messages with the pattern, `stride` apart, from `offset` on. Message i has the
  /// tag 1 + i % 255. Throws Error(failed).
  void fill(std::uint64_t offset, std::uint64_t size, std::uint64_t stride, std::uint64_t count);
  /// The first wrong byte of messages as written by fill(). Throws Error(failed).
  std::optional<gpu::Mismatch> find_mismatch(std::uint64_t offset, std::uint64_t size,
                                             std::uint64_t stride, std::uint64_t count);
  /// Writes zeros. Throws Error(failed).
  void clear(std::uint64_t offset, std::uint64_t bytes);
  /// Copies to host memory. Throws Error(failed).
  void read(std::uint64_t offset, std::span<std::byte> to);

  /// Times the copies of `bytes`, at most size(), that a staged message needs. The content stays.
  /// Throws Error(failed).
  CopyTimes measure_copies(std::uint64_t bytes);

 private:
  struct Choice {
    int ordinal;
    std::string text;
  };
  static Choice choose(const Request& request);
  GpuMemory(const Request& request, std::uint64_t bytes, Choice choice);
  gpu::Kernels& kernels();
  void wait(const char* what);
  gpu::DevicePointer at(std::uint64_t offset) const noexcept;
  void see_writes();
  void pull(std::uint64_t offset,
            std::uint64_t bytes);  ///< staged: copies received bytes to the GPU
  void push(std::uint64_t offset,
            std::uint64_t bytes);  ///< staged: copies written bytes to the host

  std::string choice_;
  gpu::Context context_;
  gpu::Allocation allocation_;
  std::uint64_t start_ = 0;  ///< of the first byte, within the allocation
  std::uint64_t size_ = 0;
  gpu::DmaBuf dma_buf_;
  std::optional<gpu::PinnedHost> host_;
  std::optional<gpu::PinnedHost> staging_;  ///< for read(), made by the first one
  gpu::FlushRule flush_;
  std::function<void()> nic_read_;
  std::string nic_read_text_;
  std::string no_flush_;
  gpu::Stream stream_;
  std::optional<gpu::Kernels> kernels_;  ///< loaded on first use, because the driver compiles them
};

}  // namespace rdmabench::inline v1::memory

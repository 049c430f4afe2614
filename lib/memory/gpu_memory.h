// Memory of a GPU as a place for messages, and what the GPU itself writes and compares there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "gpu/allocation.h"
#include "gpu/dma_buf.h"
#include "gpu/flush.h"
#include "gpu/kernels.h"
#include "gpu/pinned_host.h"
#include "gpu/stream.h"
#include "rdmabench/memory/request.h"

namespace rdmabench::memory {

/// Time of one copy between a GPU's memory and pinned host memory.
struct CopyTimes {
  std::uint64_t bytes = 0;
  double to_device_ns = 0;    ///< median
  double from_device_ns = 0;  ///< median
};

/// An allocation on a GPU, zeroed. No host code may touch what data() points to, but for the time
/// after stage_through_host(): from then on data() is pinned host memory, which is what goes over
/// the wire, and every byte that is written or compared here passes through the GPU all the same.
///
/// Offsets are from data(). What waits does so for 10 seconds at most. Where GPU and driver say
/// that what a NIC wrote is not seen by kernels at once, the reading calls flush before they look
/// (gpu::flush_rule()), where need be by what flush_by() was given.
///
/// Thread rule: a value with no locks; one thread at a time.
class GpuMemory {
 public:
  /// A request of Kind::cuda. Throws Error(unavailable) where there is no driver or no GPU, with
  /// where it was looked for; Error(usage) for a GPU that is not there, with those that are;
  /// Error(failed) where the memory cannot be had.
  GpuMemory(const Request& request, std::uint64_t bytes);

  std::byte* data() const noexcept;
  std::uint64_t size() const noexcept { return size_; }
  const gpu::DeviceInfo& device() const noexcept { return context_.device(); }
  /// "cuda:0 NVIDIA H100 ..., near mlx5_0: PIX, ..."
  const std::string& choice() const noexcept { return choice_; }
  /// "plain allocation; SYNC_MEMOPS set; ..."
  std::string facts() const;

  /// Whether only a read by the NIC makes its writes visible: flush_by() is wanted.
  bool needs_nic_read() const noexcept { return flush_.needed && !flush_.by_driver; }
  /// From here on `read` is called before anything that arrived is looked at, in place of what the
  /// rule says; `what` says what it does, for flush_text(). What it throws passes
  /// through, as "the flush failed: ...".
  void flush_by(std::function<void()> read, std::string what);
  /// Where that read cannot be had: why, for flush_text().
  void no_flush(std::string why) { no_flush_ = std::move(why); }
  /// How what arrives is made visible before it is looked at, or that it is not.
  std::string flush_text() const;

  /// Exports all of the allocation anew; the one before is closed. `automatic` and `data_direct`
  /// are what the driver makes of a GPU's kind, and PCIe. Throws as gpu::export_dma_buf().
  const gpu::DmaBuf& export_dma_buf(GpuMapping mapping);
  const gpu::DmaBuf& dma_buf() const noexcept { return dma_buf_; }
  /// Of data().
  std::uint64_t dma_buf_offset() const noexcept { return dma_buf_.offset() + start_; }

  bool staged() const noexcept { return host_.has_value(); }
  /// Once only, and before anything is known to a device. Throws Error(failed).
  void stage_through_host();

  /// Bytes of the pattern in messages that lie `stride` apart, from `offset` on; message i has the
  /// tag 1 + (first + i) % 255. Throws Error(failed).
  void fill(std::uint64_t offset, std::uint64_t size, std::uint64_t stride, std::uint64_t count,
            std::uint64_t first);
  /// The first wrong byte of such messages. Throws Error(failed).
  std::optional<gpu::Mismatch> find_mismatch(std::uint64_t offset, std::uint64_t size,
                                             std::uint64_t stride, std::uint64_t count,
                                             std::uint64_t first);
  /// Zeros. Throws Error(failed).
  void clear(std::uint64_t offset, std::uint64_t bytes);
  /// A copy of what is there. Throws Error(failed).
  void read(std::uint64_t offset, std::span<std::byte> to);

  /// What each copy of `bytes`, at most size(), costs that a staged message would need on this side
  /// before or after the wire. What is in it stays. Throws Error(failed).
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
  void pull(std::uint64_t offset, std::uint64_t bytes);  ///< staged: the GPU gets what arrived
  void push(std::uint64_t offset, std::uint64_t bytes);  ///< staged: the wire gets what was written

  std::string choice_;
  gpu::Context context_;
  gpu::Allocation allocation_;
  std::uint64_t start_ = 0;  ///< of the first byte, within the allocation
  std::uint64_t size_ = 0;
  gpu::DmaBuf dma_buf_;
  std::optional<gpu::PinnedHost> host_;
  gpu::FlushRule flush_;
  std::function<void()> nic_read_;
  std::string nic_read_text_;
  std::string no_flush_;
  gpu::Stream stream_;
  std::optional<gpu::Kernels> kernels_;  ///< made when first needed: the driver compiles them
};

}  // namespace rdmabench::memory

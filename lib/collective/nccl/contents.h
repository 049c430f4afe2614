// What is in the slots' GPU memory: written, compared and read.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/tiler.h"
#include "rdmabench/collective/engine.h"

namespace rdmabench::inline v1::collective::nccl {

/// By kernels, or by the CPU on GPUs for which the driver cannot compile ours (compute capability
/// 7.0 and older). Keeps one pinned buffer. Thread rule: one call at a time.
class Contents {
 public:
  /// Where a stretch begins.
  using Place = std::function<gpu::DevicePointer(const Stretch&)>;

  /// Nothing is made before the first call. `stream` must outlive it.
  Contents(gpu::Stream& stream, Place place) : stream_(stream), place_(std::move(place)) {}

  // The contract's; `element` is the type's size in bytes.

  void write(std::span<const Stretch> stretches, std::uint32_t element, Deadline deadline);
  std::vector<std::size_t> find_different(std::span<const Stretch> stretches, std::uint32_t element,
                                          Deadline deadline);
  void read(gpu::DevicePointer from, std::span<std::byte> to, Deadline deadline);

  /// Why there are no kernels; "" where there are, or nothing was done yet.
  const std::string& no_kernels() const noexcept { return no_kernels_; }

 private:
  gpu::Tiler* tiler();
  std::vector<gpu::Tiled> pieces_of(std::span<const Stretch> stretches) const;

  gpu::Stream& stream_;
  Place place_;
  std::unique_ptr<gpu::Tiler> tiler_;
  std::optional<gpu::PinnedHost> staging_;  // without a tiler
  std::string no_kernels_;
};

}  // namespace rdmabench::inline v1::collective::nccl

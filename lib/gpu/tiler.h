// Writes many pieces of GPU memory, each of which repeats a period of bytes, and compares them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernels.h"

namespace rdmabench::inline v1::gpu {

/// Memory and the elements that it repeats. Everything is whole elements and aligned to one.
struct Tiled {
  DevicePointer data = 0;
  std::uint64_t bytes = 0;
  std::span<const std::byte> period{};  ///< not empty; the tiler's buffer at most
  std::uint32_t tolerance_ulp = 0;      ///< as Tile::tolerance_ulp
};

/// The periods and a table go to the GPU, and one kernel does the rest, for as many pieces at a
/// time as its buffer holds. That pinned buffer also stages other copies. Thread rule: one call at
/// a time.
class Tiler {
 public:
  /// So many pieces, and so many bytes of their periods, each rounded up to 8 bytes, are done by
  /// one kernel. Throws as Kernels, Allocation and PinnedHost.
  Tiler(const Context& context, std::size_t pieces, std::size_t period_bytes);

  /// Complete when it returns. `element`: bytes, 1, 2, 4 or 8. Throws as Stream::synchronize(),
  /// Error(usage) for a period that is empty or too long.
  void write(Stream& stream, std::span<const Tiled> pieces, std::uint32_t element,
             const Deadline& deadline);
  /// The numbers of those that hold anything else, ascending. Throws likewise.
  std::vector<std::size_t> find_different(Stream& stream, std::span<const Tiled> pieces,
                                          std::uint32_t element, const Deadline& deadline);

  /// For copy_to_device() and copy_from_device() between the calls above.
  PinnedHost& staging() noexcept { return staging_; }

 private:
  TileTable upload(Stream& stream, std::span<const Tiled> pieces, std::uint32_t element);

  std::size_t pieces_;
  std::size_t row_bytes_;
  Kernels kernels_;
  PinnedHost staging_;
  Allocation table_;  ///< the same bytes on the GPU
};

}  // namespace rdmabench::inline v1::gpu

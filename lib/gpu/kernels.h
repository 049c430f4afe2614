// Kernels that write and check patterns in GPU memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/allocation.h"
#include "gpu/pinned_host.h"
#include "gpu/stream.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::gpu {

/// A sequence of messages. Message i has the tag 1 + (first + i) % 255, as in a workload, so that
/// zeros are not a valid message.
struct Slots {
  DevicePointer data = 0;
  std::uint64_t size = 0;    ///< bytes of a message
  std::uint64_t stride = 0;  ///< bytes from one message to the next; at least `size`
  std::uint64_t count = 1;
  std::uint64_t first = 0;  ///< number of the first message, for its tag
};

/// The first wrong byte.
struct Mismatch {
  std::uint64_t slot = 0;
  std::uint64_t offset = 0;  ///< in the message

  bool operator==(const Mismatch&) const = default;
};

/// A row of a table in GPU memory: memory that repeats a period of elements, in bytes.
struct Tile {
  DevicePointer data = 0;
  std::uint64_t bytes = 0;
  DevicePointer period = 0;
  std::uint64_t period_bytes = 0;
  std::uint64_t tolerance_ulp = 0;  ///< units in the last place, of floating-point elements
  std::uint64_t differs = 0;        ///< becomes 1 where compare_tiles() finds a difference
};

/// The rows of a table. Everything is whole elements and aligned to one.
struct TileTable {
  DevicePointer rows = 0;
  std::uint64_t count = 0;
  std::uint32_t element = 1;  ///< bytes: 1, 2, 4 or 8
  std::uint64_t widest = 0;   ///< the most bytes of a row
};

/// The kernels of one context, with memory for their results. The library contains PTX, which the
/// driver compiles: for compute capability 7.5 and newer, driver 11.7 and newer. Thread rule: one
/// call at a time.
class Kernels {
 public:
  /// Throws Error(unavailable) if the driver cannot compile them, Error(failed).
  explicit Kernels(const Context& context);
  ~Kernels();
  Kernels& operator=(Kernels&&) = delete;

  // These enqueue work, do not wait and do not allocate. Each throws Error(failed) if the driver
  // refuses, Error(usage) for overlapping messages.

  /// Writes the same pattern as memory::fill_pattern().
  void fill_pattern(Stream& stream, DevicePointer data, std::uint64_t bytes, std::uint8_t tag);
  void fill_pattern(Stream& stream, const Slots& slots);

  void write_tiles(Stream& stream, const TileTable& table);
  void compare_tiles(Stream& stream, const TileTable& table);

  // These wait for the stream, as Stream::synchronize().

  /// The same result as memory::find_mismatch().
  std::optional<std::uint64_t> find_mismatch(Stream& stream, DevicePointer data,
                                             std::uint64_t bytes, std::uint8_t tag,
                                             const Deadline& deadline);
  /// The first wrong byte of the first wrong message.
  std::optional<Mismatch> find_mismatch(Stream& stream, const Slots& slots,
                                        const Deadline& deadline);

 private:
  class Module;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmabench::inline v1::gpu

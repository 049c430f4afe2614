// What is written into and checked in a GPU's memory by the GPU itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "gpu/allocation.h"
#include "gpu/pinned_host.h"
#include "gpu/stream.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::gpu {

/// Messages that lie one after another. Their tags are those of a workload's messages, from 1 to
/// 255 and round again, so that memory of zeros is no message: i has 1 + (first + i) % 255.
struct Slots {
  DevicePointer data = 0;
  std::uint64_t size = 0;    ///< bytes of a message
  std::uint64_t stride = 0;  ///< bytes from one message to the next; at least `size`
  std::uint64_t count = 1;
  std::uint64_t first = 0;  ///< the number of the first message, which its tag is made of
};

/// The first wrong byte.
struct Mismatch {
  std::uint64_t slot = 0;
  std::uint64_t offset = 0;  ///< within the message

  bool operator==(const Mismatch&) const = default;
};

/// Of two ranges, by elements.
struct Difference {
  std::uint64_t count = 0;  ///< elements that differ; 0: the rest means nothing
  std::uint64_t first = 0;  ///< index of the first of them
  std::uint64_t last = 0;   ///< and of the last

  bool operator==(const Difference&) const = default;
};

/// The kernels of one context, with the scratch memory for their results. They are PTX in this
/// library, which the driver compiles for its GPU: compute capability 7.5 and newer, driver 11.7
/// and newer. Thread rule: one thread, and one of its calls, at a time.
class Kernels {
 public:
  /// Throws Error(unavailable) where the driver cannot compile them, Error(failed).
  explicit Kernels(const Context& context);
  ~Kernels();
  Kernels(Kernels&&) noexcept;
  Kernels& operator=(Kernels&&) = delete;

  // Given to the stream, not waited for; nothing is allocated. Each throws Error(failed) where the
  // driver refuses, Error(usage) for slots that lie over one another.

  /// The pattern of memory::fill_pattern(): of message and tag the very same bytes.
  void fill_pattern(Stream& stream, DevicePointer data, std::uint64_t bytes, std::uint8_t tag);
  void fill_pattern(Stream& stream, const Slots& slots);

  // Wait for the stream, as Stream::synchronize() does.

  /// What memory::find_mismatch() says of the same bytes.
  std::optional<std::uint64_t> find_mismatch(Stream& stream, DevicePointer data,
                                             std::uint64_t bytes, std::uint8_t tag,
                                             const Deadline& deadline);
  /// The first wrong byte of the first wrong message.
  std::optional<Mismatch> find_mismatch(Stream& stream, const Slots& slots,
                                        const Deadline& deadline);
  /// Bit by bit, in elements of 1, 2, 4 or 8 bytes. Throws Error(usage) for any other.
  Difference compare(Stream& stream, DevicePointer a, DevicePointer b, std::uint64_t elements,
                     std::uint32_t element_bytes, const Deadline& deadline);
  /// See gpu::checksum().
  std::uint64_t checksum(Stream& stream, DevicePointer data, std::uint64_t bytes,
                         const Deadline& deadline);

 private:
  class Module;
  struct State;
  std::unique_ptr<State> state_;
};

/// Of host memory, what Kernels::checksum() gives of the same bytes: the sum over the 8-byte words
/// (little-endian, the last one filled up with zeros) of a hash of word and position, modulo 2^64;
/// so it does not depend on the order of work. Not cryptographic.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

}  // namespace rdmabench::gpu

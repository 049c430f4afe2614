// Stretches of slots' buffers, gathered until many are written or compared together, and how that
// is done in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rdmabench/collective/engine.h"

namespace rdmabench::inline v1::collective {

/// Thread rule: one thread.
class Stretches {
 public:
  static constexpr std::size_t kMost = 8192;
  /// Of all periods: those of an input or a result and a guard in each of 256 slots, of 8-byte
  /// elements.
  static constexpr std::size_t kPeriodBytes = std::size_t{9} << 20;

  Stretches();

  /// Adds one; the caller fills what is returned, its period, of `most_period` bytes or fewer.
  /// Must not be full().
  std::span<std::byte> add(Stretch stretch, std::size_t most_period);
  bool full() const noexcept;
  bool empty() const noexcept { return list_.empty(); }
  std::span<const Stretch> list() const noexcept { return list_; }
  void clear() noexcept;

 private:
  std::vector<std::uint64_t> periods_;
  std::size_t used_ = 0;
  std::vector<Stretch> list_;
};

/// Writes into, or compares with, the memory of one stretch. `element`: bytes.
void write_stretch(const Stretch& stretch, std::byte* to) noexcept;
bool holds(const Stretch& stretch, const std::byte* at, std::uint32_t element) noexcept;

/// Those of an element, in the host's order.
std::uint64_t bits_of(const std::byte* element, std::size_t bytes) noexcept;

/// Whether two elements differ by so many units in the last place at most.
bool is_near(const std::byte* a, const std::byte* b, std::uint32_t element,
             std::uint32_t tolerance_ulp) noexcept;

}  // namespace rdmabench::inline v1::collective

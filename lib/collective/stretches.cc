#include "collective/stretches.h"

#include <algorithm>
#include <cstring>

namespace rdmabench::inline v1::collective {
namespace {

/// Maps floating-point encodings to integers of the same order. Source: IEEE 754 encodings.
std::int64_t in_order(std::uint64_t bits, std::size_t bytes) noexcept {
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

}  // namespace

std::uint64_t bits_of(const std::byte* element, std::size_t bytes) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, bytes);
  return bits;
}

Stretches::Stretches() : periods_(kPeriodBytes / sizeof(std::uint64_t)) {}

std::span<std::byte> Stretches::add(Stretch stretch, std::size_t most_period) {
  const std::size_t bytes = std::min<std::uint64_t>(stretch.bytes, most_period);
  const std::span<std::byte> period =
      std::as_writable_bytes(std::span(periods_)).subspan(used_ * sizeof(std::uint64_t), bytes);
  used_ += (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  stretch.period = period;
  list_.push_back(stretch);
  return period;
}

bool Stretches::full() const noexcept {
  return list_.size() >= kMost || (periods_.size() - used_) * sizeof(std::uint64_t) < kMostPeriod;
}

void Stretches::clear() noexcept {
  list_.clear();
  used_ = 0;
}

void write_stretch(const Stretch& stretch, std::byte* to) noexcept {
  const std::uint64_t period = std::min<std::uint64_t>(stretch.period.size(), stretch.bytes);
  std::copy_n(stretch.period.data(), period, to);
  for (std::uint64_t done = period; done < stretch.bytes;) {
    const std::uint64_t part = std::min(done, stretch.bytes - done);  // of whole periods
    std::memcpy(to + done, to, part);
    done += part;
  }
}

bool is_near(const std::byte* a, const std::byte* b, std::uint32_t element,
             std::uint32_t tolerance_ulp) noexcept {
  const std::uint64_t first = bits_of(a, element);
  const std::uint64_t second = bits_of(b, element);
  if (first == second) return true;
  if (tolerance_ulp == 0) return false;
  const std::int64_t difference = in_order(first, element) - in_order(second, element);
  return static_cast<std::uint64_t>(difference < 0 ? -difference : difference) <= tolerance_ulp;
}

bool holds(const Stretch& stretch, const std::byte* at, std::uint32_t element) noexcept {
  const std::uint64_t period = stretch.period.size();
  for (std::uint64_t done = 0; done < stretch.bytes; done += period) {
    const std::uint64_t part = std::min(period, stretch.bytes - done);
    if (std::memcmp(stretch.period.data(), at + done, part) == 0) continue;
    if (stretch.tolerance_ulp == 0) return false;
    for (std::uint64_t i = 0; i < part; i += element) {
      if (!is_near(stretch.period.data() + i, at + done + i, element, stretch.tolerance_ulp)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace rdmabench::inline v1::collective

#include "workload/at_rest.h"

#include <vector>

#include "memory/gpu_memory.h"
#include "workload/counters.h"

namespace rdmabench::workload {
namespace {

constexpr std::uint64_t kStraySlots = 16;
constexpr std::uint64_t kStrayBytes = 4096;

std::uint64_t offset_of(const RestingSlots& slots) noexcept {
  return static_cast<std::uint64_t>(slots.region.data - slots.gpu->data());
}

/// A copy of `bytes` bytes at `at` of slot `index`, wherever they lie.
std::vector<std::byte> copy_of(const RestingSlots& slots, std::uint64_t index, std::uint64_t at,
                               std::uint64_t bytes) {
  std::vector<std::byte> copy(bytes);
  if (slots.gpu != nullptr) {
    slots.gpu->read(offset_of(slots) + index * slots.region.stride + at, copy);
  } else {
    const std::span<std::byte> there = message_in(slots.region, index, at + bytes).subspan(at);
    std::copy(there.begin(), there.end(), copy.begin());
  }
  return copy;
}

std::optional<WrongByte> compare_slot(const RestingSlots& slots, std::uint64_t index,
                                      std::uint64_t size, std::uint8_t tag) {
  std::optional<std::uint64_t> wrong;
  if (slots.gpu == nullptr) {
    wrong = memory::find_mismatch(message_in(slots.region, index, size), tag);
  } else if (const auto found = slots.gpu->find_mismatch(
                 offset_of(slots) + index * slots.region.stride, size, size, 1, tag - 1U)) {
    wrong = found->offset;
  }
  if (!wrong) return std::nullopt;
  return WrongByte{index, *wrong};
}

}  // namespace

void fill(const RestingSlots& slots, std::uint64_t size, std::uint64_t count) {
  if (slots.gpu != nullptr) {
    slots.gpu->fill(offset_of(slots), size, slots.region.stride, count, 0);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    memory::fill_pattern(message_in(slots.region, i, size), tag_of(i));
  }
}

void clear(const RestingSlots& slots, std::uint64_t size) {
  if (slots.gpu != nullptr) {
    slots.gpu->clear(offset_of(slots), slots.region.stride * (slots.region.slots - 1) + size);
    return;
  }
  for (std::uint64_t i = 0; i < slots.region.slots; ++i) clear(message_in(slots.region, i, size));
}

std::optional<WrongByte> compare(const RestingSlots& slots, std::uint64_t size,
                                 std::uint64_t count) {
  if (slots.gpu != nullptr) {
    const auto wrong =
        slots.gpu->find_mismatch(offset_of(slots), size, slots.region.stride, count, 0);
    if (!wrong) return std::nullopt;
    return WrongByte{wrong->slot, wrong->offset};
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (const auto wrong = compare_slot(slots, i, size, tag_of(i))) return wrong;
  }
  return std::nullopt;
}

std::optional<WrongByte> find_stray(const RestingSlots& slots, std::uint64_t size,
                                    std::uint64_t first) {
  const std::uint64_t end = std::min<std::uint64_t>(slots.region.slots, first + kStraySlots);
  for (std::uint64_t i = first; i < end; ++i) {
    const std::vector<std::byte> message = copy_of(slots, i, 0, std::min(size, kStrayBytes));
    const auto stray = std::find_if(message.begin(), message.end(),
                                    [](std::byte one) { return one != std::byte{0}; });
    if (stray != message.end()) {
      return WrongByte{i, static_cast<std::uint64_t>(stray - message.begin())};
    }
  }
  return std::nullopt;
}

Landed find_landed(const RestingSlots& slots, std::uint64_t size) {
  Landed landed;
  for (std::uint64_t i = 0; i < slots.region.slots && !landed.wrong; ++i) {
    const auto tag = static_cast<std::uint8_t>(copy_of(slots, i, size - 1, 1).front());
    if (tag != 0) {
      landed.wrong = compare_slot(slots, i, size, tag);
      ++landed.whole;
      continue;
    }
    const std::vector<std::byte> message = copy_of(slots, i, 0, size);
    const bool untouched = std::all_of(message.begin(), message.end(),
                                       [](std::byte one) { return one == std::byte{0}; });
    if (!untouched) landed.wrong = WrongByte{i, size - 1};
  }
  return landed;
}

std::uint64_t sum_words(const RestingSlots& slots) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < slots.region.slots; ++i) {
    sum += word_in(copy_of(slots, i, 0, transport::kAtomicBytes));
  }
  return sum;
}

}  // namespace rdmabench::workload

#include "rdmabench/workload/prepare.h"

#include <vector>

#include "memory/gpu_memory.h"
#include "rdmabench/workload/slots.h"

namespace rdmabench::inline v1::workload {
namespace {

constexpr std::uint64_t kStraySlots = 16;
constexpr std::uint64_t kStrayBytes = 4096;
constexpr std::uint64_t kCopyBytes = 4U << 20;

std::uint64_t offset_of(const ContentSlots& slots) noexcept {
  return static_cast<std::uint64_t>(slots.region.data - slots.gpu->data());
}

/// Calls `take(slot, bytes)` with the first `size` bytes of each slot from `first` to `end`, until
/// it returns false. Slots of a GPU are copied many at a time: a copy of each would take longer
/// than the epoch.
template <class Take>
void for_each_slot(const ContentSlots& slots, std::uint64_t first, std::uint64_t end,
                   std::uint64_t size, const Take& take) {
  const std::uint64_t stride = slots.region.stride;
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kCopyBytes / stride);
  std::vector<std::byte> copies;
  for (std::uint64_t i = first; i < end; ++i) {
    if (slots.gpu == nullptr) {
      if (!take(i, message_in(slots.region, i, size))) return;
      continue;
    }
    const std::uint64_t place = (i - first) % at_once;
    if (place == 0) {
      copies.resize(stride * (std::min(at_once, end - i) - 1) + size);
      slots.gpu->read(offset_of(slots) + i * stride, copies);
    }
    if (!take(i, std::span(copies).subspan(place * stride, size))) return;
  }
}

std::optional<std::uint64_t> first_set(std::span<const std::byte> bytes) {
  const auto found =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte one) { return one != std::byte{0}; });
  if (found == bytes.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - bytes.begin());
}

}  // namespace

void fill(const ContentSlots& slots, std::uint64_t size, std::uint64_t count) {
  if (slots.gpu != nullptr) {
    slots.gpu->fill(offset_of(slots), size, slots.region.stride, count);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    memory::fill_pattern(message_in(slots.region, i, size), tag_of(i));
  }
}

void clear(const ContentSlots& slots, std::uint64_t size) {
  if (slots.gpu != nullptr) {
    slots.gpu->clear(offset_of(slots), slots.region.stride * (slots.region.slots - 1) + size);
    return;
  }
  for (std::uint64_t i = 0; i < slots.region.slots; ++i) clear(message_in(slots.region, i, size));
}

std::optional<WrongByte> compare(const ContentSlots& slots, std::uint64_t size,
                                 std::uint64_t count) {
  if (slots.gpu != nullptr) {
    const auto wrong = slots.gpu->find_mismatch(offset_of(slots), size, slots.region.stride, count);
    if (!wrong) return std::nullopt;
    return WrongByte{wrong->slot, wrong->offset};
  }
  std::optional<WrongByte> wrong;
  for_each_slot(slots, 0, count, size, [&](std::uint64_t slot, std::span<const std::byte> message) {
    if (const auto at = memory::find_mismatch(message, tag_of(slot))) wrong = {slot, *at};
    return !wrong;
  });
  return wrong;
}

std::optional<WrongByte> find_stray(const ContentSlots& slots, std::uint64_t size,
                                    std::uint64_t first) {
  std::optional<WrongByte> stray;
  for_each_slot(slots, first, std::min<std::uint64_t>(slots.region.slots, first + kStraySlots),
                std::min(size, kStrayBytes),
                [&](std::uint64_t slot, std::span<const std::byte> message) {
                  if (const auto at = first_set(message)) stray = {slot, *at};
                  return !stray;
                });
  return stray;
}

Landed find_landed(const ContentSlots& slots, std::uint64_t size) {
  Landed landed;
  const auto judge = [&](std::uint64_t slot, std::span<const std::byte> message) {
    if (const auto tag = static_cast<std::uint8_t>(message.back())) {
      if (const auto at = memory::find_mismatch(message, tag)) landed.wrong = {slot, *at};
      ++landed.whole;
    } else if (first_set(message)) {
      landed.wrong = {slot, size - 1};
    }
    return !landed.wrong;
  };
  for_each_slot(slots, 0, slots.region.slots, size, judge);
  return landed;
}

std::uint64_t sum_words(const ContentSlots& slots) {
  std::uint64_t sum = 0;
  for_each_slot(slots, 0, slots.region.slots, transport::kAtomicBytes,
                [&](std::uint64_t, std::span<const std::byte> word) {
                  sum += word_in(word);
                  return true;
                });
  return sum;
}

}  // namespace rdmabench::inline v1::workload

// The words that atomics act on: one counter in each slot of the target's window.
//
// Message i acts on slot i % slots, and is the (i / slots)-th operation there. Counters start at 0,
// so that is the value it must bring back, and the word by which a compare-and-swap succeeds.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "rdmabench/workload/slots.h"

namespace rdmabench::workload {

/// How many slots messages rotate through. Those on one counter must keep to one lane, or they
/// would overtake each other and swaps would fail.
template <class Op>
std::uint32_t used_slots(const transport::Region& region, std::uint32_t lanes) noexcept {
  if (!Op::kAtomic || region.slots < lanes) return region.slots;
  return region.slots - region.slots % lanes;
}

/// What no counter reaches, so that a word that never came is seen.
inline void clear_word(std::span<std::byte> message) noexcept {
  std::fill(message.begin(), message.end(), std::byte{0xff});
}

inline std::uint64_t word_in(std::span<const std::byte> message) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, message.data(), sizeof word);
  return word;
}

/// The word that message i brought back must be `expected`.
template <transport::Transport T>
bool check_word(std::span<const std::byte> message, std::uint64_t i, std::uint64_t expected,
                Inbox<T>& inbox, EpochResult& result) noexcept {
  const std::uint64_t wrong = word_in(message) ^ expected;
  if (wrong == 0) {
    ++result.checked;
    return true;
  }
  if (result.outcome == Outcome::ok) {
    result.message = i;
    result.byte = static_cast<std::uint64_t>(std::endian::native == std::endian::little
                                                 ? std::countr_zero(wrong)
                                                 : std::countl_zero(wrong)) /
                  8;
  }
  return inbox.end(Outcome::wrong_data, Wait::nothing);
}

/// At the target, when all have been done: how many succeeded.
template <transport::Transport T>
std::uint64_t sum_counters(T& endpoint) noexcept {
  const transport::Region window = endpoint.window();
  std::uint64_t sum = 0;
  for (std::uint32_t slot = 0; slot < window.slots; ++slot) {
    sum += word_in(message_in(window, slot, transport::kAtomicBytes));
  }
  return sum;
}

}  // namespace rdmabench::workload

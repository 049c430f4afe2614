// The words that atomics act on: one counter in each slot of the target's window.
//
// Message i acts on slot i % slots, and is the (i / slots)-th operation there. Counters start at 0,
// so that is the value it must bring back, and the word by which a compare-and-swap succeeds.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "workload/slots.h"

namespace rdmabench::inline v1::workload {

/// How many slots messages rotate through. Those on one counter must keep to one queue pair, or
/// they would overtake each other and swaps would fail.
template <class Op>
std::uint32_t used_slots(const transport::Region& region, std::uint32_t queue_pairs) noexcept {
  if (!Op::kAtomic || region.slots < queue_pairs) return region.slots;
  return region.slots - region.slots % queue_pairs;
}

/// What no counter reaches, so that a word that never came is seen.
inline void clear_word(std::span<std::byte> message) noexcept {
  std::fill(message.begin(), message.end(), std::byte{0xff});
}

/// A slot before message i leaves from it, or is fetched into it.
template <class Op>
void prepare(std::span<std::byte> message, std::uint64_t i) noexcept {
  if constexpr (Op::kAtomic) {
    clear_word(message);
  } else if constexpr (Op::kFromTarget) {
    clear(message);
  } else {
    memory::fill_pattern(message, tag_of(i));
  }
}

inline std::uint64_t word_in(std::span<const std::byte> message) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, message.data(), sizeof word);
  return word;
}

/// The word that message i brought back must be `expected`.
template <transport::Transport T>
bool check_word(std::span<const std::byte> message, std::uint64_t i, std::uint64_t expected,
                EpochIo<T>& io, EpochResult& result) noexcept {
  const std::uint64_t wrong = word_in(message) ^ expected;
  if (wrong == 0) {
    ++result.checked;
    return true;
  }
  if (result.outcome == Outcome::ok) {
    result.byte = static_cast<std::uint64_t>(std::endian::native == std::endian::little
                                                 ? std::countr_zero(wrong)
                                                 : std::countl_zero(wrong)) /
                  8;
  }
  return complain(io, result, Outcome::wrong_data, i);
}

/// What message i brought back, where messages rotate through `slots`.
template <class Op, transport::Transport T>
bool check_fetched(std::span<const std::byte> message, std::uint64_t i, std::uint64_t slots,
                   EpochIo<T>& io, EpochResult& result) noexcept {
  if constexpr (Op::kAtomic) return check_word(message, i, i / slots, io, result);
  return check_message(message, i, tag_of(i % slots), io, result);
}

/// At the target, when all have been done: counts what succeeded. When validating, that is all of
/// what cannot fail.
template <class Op, bool kValidate, transport::Transport T>
bool count_succeeded(T& endpoint, const EpochPlan& plan, EpochIo<T>& io,
                     EpochResult& result) noexcept {
  if (gpu_of(endpoint) != nullptr) return true;  // check_content() asks the GPU
  const transport::Region window = endpoint.window();
  for (std::uint32_t slot = 0; slot < window.slots; ++slot) {
    result.succeeded += word_in(message_in(window, slot, transport::kAtomicBytes));
  }
  constexpr bool kMustAll = kValidate && !Op::kConditional;
  if (!kMustAll || result.succeeded == plan.iterations) return true;
  result.message = result.succeeded;
  return io.end(Outcome::wrong_messages, Wait::nothing);
}

/// The target's check after operations that give it no completion.
template <class Op, bool kValidate, transport::Transport T>
bool check_window_after(T& endpoint, const EpochPlan& plan, EpochIo<T>& io,
                        EpochResult& result) noexcept {
  if constexpr (Op::kAtomic) {
    return count_succeeded<Op, kValidate>(endpoint, plan, io, result);
  } else if constexpr (kValidate && !Op::kFromTarget) {
    return check_window(endpoint, plan, io, result);
  }
  return true;
}

}  // namespace rdmabench::inline v1::workload

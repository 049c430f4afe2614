// Where messages lie, and what is compared in them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"
#include "rdmabench/workload/epoch_io.h"

namespace rdmabench::inline v1::workload {

/// Bytes of slot `index` in which a message of `size` lies.
inline std::span<std::byte> message_in(const transport::Region& region, std::uint64_t index,
                                       std::uint64_t size) noexcept {
  return {region.data + index % region.slots * region.stride, size};
}

/// Whether a message had the length that it should have; where no length is told, its bytes tell.
constexpr bool has_length(const transport::Received& received, std::uint64_t size) noexcept {
  return received.bytes == size || received.bytes == transport::kUnknownLength;
}

/// A message of slot `index`: from there, and into the same slot of the peer's window.
inline transport::Message to_slot(const transport::Region& region, std::uint64_t index,
                                  std::uint64_t size, std::uint64_t word) noexcept {
  const std::uint64_t offset = index % region.slots * region.stride;
  return {.local = offset, .remote = offset, .bytes = size, .word = word};
}

/// Messages go to the queue pairs in turn.
template <transport::Transport T>
void next_queue_pair(std::uint32_t& queue_pair, std::uint32_t queue_pairs) noexcept {
  if constexpr (T::kManyQueuePairs) {
    if (++queue_pair == queue_pairs) queue_pair = 0;
  }
}

/// The three kinds of slots that an endpoint has.
enum class SlotKind : std::uint8_t { sends, receives, window };

/// The GPU in whose memory they lie; null for the host's.
template <transport::Transport T>
memory::GpuMemory* gpu_of(const T& endpoint, SlotKind kind = SlotKind::window) noexcept {
  if constexpr (requires { endpoint.window_memory(); }) {
    switch (kind) {
      case SlotKind::sends:
        return endpoint.send_memory().gpu();
      case SlotKind::receives:
        return endpoint.receive_memory().gpu();
      case SlotKind::window:
        return endpoint.window_memory().gpu();
    }
  }
  return nullptr;
}

/// Data of before must not pass for new: a cleared message ends in 0, which is not a tag.
inline void clear(std::span<std::byte> message) noexcept {
  std::fill(message.begin(), message.end(), std::byte{0});
}

/// Message i is not what it should be.
template <transport::Transport T>
bool complain(EpochIo<T>& io, EpochResult& result, Outcome outcome, std::uint64_t i) noexcept {
  if (result.outcome == Outcome::ok) result.message = i;
  return io.end(outcome, Wait::nothing);
}

/// Compares every byte of message i with the pattern.
template <transport::Transport T>
bool check_message(std::span<const std::byte> message, std::uint64_t i, std::uint8_t tag,
                   EpochIo<T>& io, EpochResult& result) noexcept {
  const auto wrong = memory::find_mismatch(message, tag);
  if (!wrong) {
    ++result.checked;
    return true;
  }
  if (result.outcome == Outcome::ok) result.byte = *wrong;
  return complain(io, result, Outcome::wrong_data, i);
}

/// Every slot of the window must hold the last message written there, once all writes have landed.
///
/// Where messages may be lost, one whose last byte is not there is lost, and no error: a receiver
/// drops the rest of a message of which it missed a packet (InfiniBand Architecture Specification,
/// volume 1, on unreliable connections). One whose last byte is there must be whole.
template <transport::Transport T>
bool check_window(T& endpoint, const EpochPlan& plan, EpochIo<T>& io,
                  EpochResult& result) noexcept {
  const transport::Region window = endpoint.window();
  const std::uint64_t used = std::min<std::uint64_t>(window.slots, plan.iterations);
  for (std::uint64_t i = plan.iterations - used; i < plan.iterations; ++i) {
    const std::span<std::byte> message = message_in(window, i, plan.size);
    if constexpr (!T::kReliable) {
      if (message.back() != std::byte{tag_of(i)}) continue;
    }
    if (!check_message(message, i, tag_of(i), io, result)) return false;
  }
  return true;
}

// The words that atomics act on: one counter in each slot of the target's window.
//
// Message i acts on slot i % slots, and is the (i / slots)-th operation there. Counters start at 0,
// so that is the value it must bring back, and the word by which a compare-and-swap succeeds.

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

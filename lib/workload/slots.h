// Where messages lie, and what is compared in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/memory/pattern.h"
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

}  // namespace rdmabench::inline v1::workload

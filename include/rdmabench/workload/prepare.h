// Readies an endpoint and its memory for an epoch, and compares the memory after it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/workload/epoch.h"
#include "rdmabench/workload/latency.h"
#include "rdmabench/workload/slots.h"

namespace rdmabench::inline v1::workload {

// What is written before an epoch and compared after it, instead of message by message: where the
// loops may not touch the bytes, because they are a GPU's, and for the transfer by which two sides
// make sure that bytes arrive at all. This is outside of the timed part.
//
// Every slot that messages leave from holds one message for the whole epoch, tagged by its slot;
// every slot they land in is cleared before. So what is compared is the message that came last to
// each slot, a message of an earlier epoch cannot be mistaken for one of this epoch, and slots that
// no message was for must still be clear. What this does not see: a message that was lost or wrong
// and was followed by another one into the same slot, for the two are alike. How many came is
// counted by the loops where an operation tells its target (sends, immediates); of reliable writes
// and reads the completions are all there is.

/// A region, and the GPU that alone may touch it; null for the host's.
struct ContentSlots {
  transport::Region region;
  memory::GpuMemory* gpu = nullptr;
};

/// The first wrong byte.
struct WrongByte {
  std::uint64_t slot;
  std::uint64_t byte;
};

/// What lies in slots to which messages came in an order that is not known.
struct Landed {
  std::uint64_t whole = 0;  ///< slots that hold a message of any tag; the others are as cleared
  std::optional<WrongByte> wrong;
};

// Each throws Error(failed) where the GPU fails.

/// The first `count` slots: a message of `size` with the tag of its slot.
void fill(const ContentSlots& slots, std::uint64_t size, std::uint64_t count);
/// All slots: zeros where messages of `size` will be.
void clear(const ContentSlots& slots, std::uint64_t size);
/// Whether the first `count` slots hold what fill() writes.
std::optional<WrongByte> compare(const ContentSlots& slots, std::uint64_t size,
                                 std::uint64_t count);
/// Whether the slots from `first` on are as clear() left them: of the next 16 the first 4 KiB of
/// each at most, for there may be many and large ones.
std::optional<WrongByte> find_stray(const ContentSlots& slots, std::uint64_t size,
                                    std::uint64_t first);
/// Whether each slot holds a whole message, or zeros.
Landed find_landed(const ContentSlots& slots, std::uint64_t size);
/// The sum of the first words of all slots: how often atomics moved them.
std::uint64_t sum_words(const ContentSlots& slots);

template <transport::Transport T>
ContentSlots sends_of(const T& endpoint) noexcept {
  return {endpoint.send_region(), gpu_of(endpoint, SlotKind::sends)};
}
template <transport::Transport T>
ContentSlots receives_of(const T& endpoint) noexcept {
  return {endpoint.receive_region(), gpu_of(endpoint, SlotKind::receives)};
}
template <transport::Transport T>
ContentSlots window_of(const T& endpoint) noexcept {
  return {endpoint.window(), gpu_of(endpoint, SlotKind::window)};
}

/// Who does what to which bytes in an epoch.
template <class Op>
struct ContentRoles {
  explicit ContentRoles(const LoopKey& key) noexcept
      : initiates(key.side == Side::initiator || key.shape == Shape::bidirectional),
        serves(key.side == Side::target || key.shape == Shape::bidirectional) {
    const bool answered =
        !transport::is_timed_by_completion(Op::kCode) &&
        (key.shape == Shape::latency || (key.shape == Shape::load && Op::kNotifies));
    sends = !Op::kFromTarget && (initiates || answered);
    lands = !Op::kFromTarget && (serves || answered);
    fetches = Op::kFromTarget && initiates;
  }

  bool initiates;
  bool serves;  ///< as the target
  bool sends;
  bool lands;    ///< the peer's messages
  bool fetches;  ///< reads, atomics
};

/// Slots that messages of an epoch use: a latency test has one under way, in the first.
inline std::uint64_t content_count(const LoopKey& key, const transport::Region& region,
                                   std::uint64_t messages) noexcept {
  if (key.shape == Shape::latency) return 1;
  return std::min<std::uint64_t>(region.slots, messages);
}

template <transport::Transport T, class Op>
void prepare_content(T& endpoint, const LoopKey& key, const EpochPlan& plan) {
  const ContentRoles<Op> role(key);
  if (Op::kAtomic) {
    if (role.serves) clear(window_of(endpoint), plan.size);  // counters begin at 0
    return;
  }
  if (!key.validate) return;
  const ContentSlots sends = sends_of(endpoint);
  const ContentSlots window = window_of(endpoint);
  const std::uint64_t messages =
      plan.grows ? std::numeric_limits<std::uint64_t>::max() : plan.iterations;
  if (Op::kFromTarget) {
    if (role.serves) fill(window, plan.size, content_count(key, window.region, messages));
    if (role.fetches) clear(sends, plan.size);
    return;
  }
  if (role.lands) clear(Op::kTwoSided ? receives_of(endpoint) : window, plan.size);
  if (role.sends) fill(sends, plan.size, content_count(key, sends.region, messages));
}

/// After a loop that ended well. Throws as the functions above.
template <transport::Transport T, class Op>
void check_content(T& endpoint, const LoopKey& key, const EpochPlan& plan, EpochResult& result) {
  const ContentRoles<Op> role(key);
  const auto refuse = [&](Outcome outcome, std::uint64_t slot, std::uint64_t byte) {
    result.outcome = outcome;
    result.message = std::min(slot, plan.iterations - 1);
    result.byte = byte;
  };
  if (Op::kAtomic) {
    if (!role.serves) return;
    result.succeeded = sum_words(window_of(endpoint));
    const bool all = result.succeeded == plan.iterations;
    if (key.validate && !Op::kConditional && !all) {
      refuse(Outcome::wrong_messages, result.succeeded, 0);
    }
    return;
  }
  if (!key.validate) return;
  if (role.fetches || (role.lands && !Op::kTwoSided && T::kReliable)) {
    const ContentSlots slots = role.fetches ? sends_of(endpoint) : window_of(endpoint);
    const std::uint64_t count = content_count(key, slots.region, plan.iterations);
    auto wrong = compare(slots, plan.size, count);
    if (!wrong) wrong = find_stray(slots, plan.size, count);
    if (wrong) return refuse(Outcome::wrong_data, wrong->slot, wrong->byte);
    result.checked += count;
  } else if (role.lands) {
    const ContentSlots slots = Op::kTwoSided ? receives_of(endpoint) : window_of(endpoint);
    const Landed landed = find_landed(slots, plan.size);
    if (landed.wrong) return refuse(Outcome::wrong_data, landed.wrong->slot, landed.wrong->byte);
    result.checked += landed.whole;
    // On one queue pair receives are used in turn, from anywhere in their round: half of as many
    // messages are in slots of their own at least. Several queue pairs have a round each.
    const std::uint64_t least =
        endpoint.queue_pairs() > 1
            ? 1
            : std::min<std::uint64_t>(slots.region.slots, (plan.iterations + 1) / 2);
    if (T::kReliable && landed.whole < std::min(least, plan.iterations)) {
      refuse(Outcome::wrong_messages, landed.whole, 0);
    }
  }
}

/// Throws Error(usage) for a plan that the loop of `key` could not keep.
void check_plan(const LoopKey& key, const EpochPlan& plan);

/// Throws Error(failed) where posts of before are under way: their completions would be taken for
/// ones of the epoch's.
void check_drained(std::uint64_t under_way);

/// What came too late for the last epoch must not pass for a message of this one.
template <transport::Transport T>
void discard_arrivals(T& endpoint) {
  const auto give_back = [&](const transport::Received& received) noexcept {
    if (received.slot != transport::kNoSlot) endpoint.post_receive(received.slot);
  };
  while (endpoint.poll(give_back) > 0) {
  }
}

/// Makes the endpoint and its memory ready for an epoch. Both sides do so before either starts: a
/// message may arrive before the target's loop has begun. Throws Error(usage) for a plan that
/// cannot be, and what check_drained() throws.
template <transport::Transport T, class WantedOp>
void prepare(T& endpoint, const LoopKey& key, const EpochPlan& plan) {
  check_plan(key, plan);
  check_drained(endpoint.posted() - endpoint.completed());
  if constexpr (!T::kReliable) discard_arrivals(endpoint);
  if (key.epoch_content || gpu_of(endpoint) != nullptr) {
    return prepare_content<T, WantedOp>(endpoint, key, plan);
  }
  const transport::Region window = endpoint.window();
  for (std::uint32_t slot = 0; slot < window.slots; ++slot) {
    const std::span<std::byte> message = message_in(window, slot, plan.size);
    if (WantedOp::kFromTarget && !WantedOp::kAtomic) {
      memory::fill_pattern(message, tag_of(slot));
    } else {
      clear(message);  // nothing has arrived yet, and counters begin at 0
    }
  }
}

}  // namespace rdmabench::inline v1::workload

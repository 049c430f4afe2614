// The loops over one endpoint type: from what a user asked for to the loop that does it. Looked up
// once per epoch, outside of it.
#pragma once

#include <span>
#include <type_traits>

#include "rdmabench/measure/clock.h"
#include "rdmabench/transport/operation.h"
#include "rdmabench/workload/duplex.h"
#include "rdmabench/workload/epoch.h"
#include "rdmabench/workload/latency.h"
#include "rdmabench/workload/open_loop.h"
#include "rdmabench/workload/prepare.h"
#include "rdmabench/workload/stream.h"

namespace rdmabench::inline v1::workload {

template <transport::Transport T>
using Loop = EpochResult (*)(T&, const EpochPlan&, Watch&, std::span<measure::Ticks>) noexcept;

template <transport::Transport T>
struct Entry {
  Loop<T> loop = nullptr;
  void (*prepare)(T&, const LoopKey&, const EpochPlan&) = nullptr;
  /// After a loop that ended well, where the loops leave the bytes alone.
  void (*check)(T&, const LoopKey&, const EpochPlan&, EpochResult&) = nullptr;
};

namespace detail {

/// The target compares no reads, and nothing of an atomic that may do nothing: those are alike.
template <transport::Transport T, class Op, bool kValidate>
constexpr Loop<T> one_sided_loop() {
  using Alike = std::conditional_t<Op::kConditional, transport::FetchAdd, Op>;
  constexpr bool kLooks = kValidate && !Op::kConditional && (Op::kAtomic || !Op::kFromTarget);
  return &one_sided_target<T, Alike, kLooks>;
}

template <transport::Transport T, class Op, bool kValidate>
constexpr Loop<T> stream_loop(const LoopKey& key) {
  if (key.side == Side::target) {
    if constexpr (Op::kNotifies) {
      return &stream_target<T, Op, kValidate>;
    } else {
      return one_sided_loop<T, Op, kValidate>();
    }
  }
  return key.paced ? &stream_initiator<T, Op, kValidate, Paced>
                   : &stream_initiator<T, Op, kValidate, Unpaced>;
}

template <transport::Transport T, class Op, bool kValidate>
constexpr Loop<T> latency_loop(const LoopKey& key) {
  const bool tsc = key.clock == measure::ClockSource::tsc;
  if constexpr (Op::kFlushes || Op::kFromTarget) {
    if (key.side == Side::target) return one_sided_loop<T, Op, kValidate>();
    return tsc ? &completion_latency_initiator<T, Op, measure::TscClock, kValidate>
               : &completion_latency_initiator<T, Op, measure::RawClock, kValidate>;
  } else {
    if (key.side == Side::target) return &ping_pong_target<T, Op, kValidate>;
    return tsc ? &ping_pong_initiator<T, Op, measure::TscClock, kValidate>
               : &ping_pong_initiator<T, Op, measure::RawClock, kValidate>;
  }
}

template <transport::Transport T, class Op>
constexpr Loop<T> idle_loop(Side side) {
  if constexpr (kHasIdleTarget<T, Op>) {
    return side == Side::initiator ? &idle_target_initiator<T, Op> : &idle_target<T>;
  } else {
    return nullptr;
  }
}

template <transport::Transport T, class Op, bool kValidate>
constexpr Loop<T> open_loop(const LoopKey& key) {
  if constexpr (!kHasOpenLoop<T, Op>) {
    return nullptr;
  } else {
    if (key.side == Side::target) {
      if constexpr (Op::kNotifies) {
        return &echo_target<T, Op, kValidate>;
      } else {
        return one_sided_loop<T, Op, kValidate>();
      }
    }
    return &open_loop_initiator<T, Op, measure::ChosenClock, kValidate>;
  }
}

template <transport::Transport T, class Op, bool kValidate>
constexpr Loop<T> usual_loop(const LoopKey& key) {
  // An open loop is always paced.
  if (key.paced && (key.shape == Shape::latency || key.shape == Shape::bidirectional))
    return nullptr;
  if (key.target_idle) return key.shape == Shape::latency ? idle_loop<T, Op>(key.side) : nullptr;
  switch (key.shape) {
    case Shape::latency:
      return latency_loop<T, Op, kValidate>(key);
    case Shape::bandwidth:
      return stream_loop<T, Op, kValidate>(key);
    case Shape::bidirectional:
      return key.side == Side::initiator ? &duplex<T, Op, kValidate, Side::initiator>
                                         : &duplex<T, Op, kValidate, Side::target>;
    case Shape::load:
      return open_loop<T, Op, kValidate>(key);
  }
  return nullptr;
}

/// Operations that few devices have are measured by latency and stream alone.
template <transport::Transport T, class Op, bool kValidate>
constexpr Loop<T> loop_for(const LoopKey& key) {
  if constexpr (Op::kExtended) {
    if (key.target_idle) return nullptr;
    if (key.shape == Shape::latency && !key.paced) return latency_loop<T, Op, kValidate>(key);
    return key.shape == Shape::bandwidth ? stream_loop<T, Op, kValidate>(key) : nullptr;
  } else {
    return usual_loop<T, Op, kValidate>(key);
  }
}

/// An endpoint that is opened for extended operations alone measures nothing else.
template <class T, class Op>
inline constexpr bool kMeasures = T::template supports<Op>;
template <class T, class Op>
requires(T::kForExtended) inline constexpr bool kMeasures<T, Op> =
    T::template supports<Op> && Op::kExtended;

template <transport::Transport T, class Op>
constexpr Entry<T> entry_for(const LoopKey& key) {
  if constexpr (kMeasures<T, Op>) {
    const bool compares = key.validate && !key.epoch_content;
    const Loop<T> loop = compares ? loop_for<T, Op, true>(key) : loop_for<T, Op, false>(key);
    if (loop != nullptr) return {loop, &prepare<T, Op>, &check_content<T, Op>};
  }
  return {};
}

template <transport::Transport T, class... Ops>
constexpr Entry<T> find(const LoopKey& key, transport::OperationList<Ops...>) {
  Entry<T> entry;
  static_cast<void>(
      ((Ops::kCode == key.operation ? (entry = entry_for<T, Ops>(key), true) : false) || ...));
  return entry;
}

}  // namespace detail

/// The loop and its preparation, or two null pointers where there is no such loop over this
/// transport: it does not have the operation; an open loop could not tell answers apart
/// (kHasOpenLoop); an idle target would prove nothing (kHasIdleTarget).
template <transport::Transport T>
constexpr Entry<T> find_loop(const LoopKey& key) {
  return detail::find<T>(key, transport::Operations{});
}

}  // namespace rdmabench::inline v1::workload

// The table from what a user asked for to the loop that does it. Looked up once per epoch, outside
// of it.
#pragma once

#include <span>

#include "rdmabench/measure/clock.h"
#include "rdmabench/workload/ping_pong.h"
#include "rdmabench/workload/read_latency.h"
#include "rdmabench/workload/stream.h"

namespace rdmabench::workload {

/// latency: one message at a time. stream: as many as the depth allows, one way. duplex: a stream
/// each way at the same time. open_loop: messages at a given rate, answered, each timed from its
/// intended start.
enum class Shape : std::uint8_t { latency, stream, duplex, open_loop };

struct LoopKey {
  Shape shape = Shape::latency;
  transport::OperationCode operation = transport::OperationCode::send;
  Side side = Side::initiator;
  bool validate = false;
  measure::ClockSource clock = measure::ClockSource::raw;
  bool paced = false;  ///< a stream that keeps to EpochPlan::gap_q16
};

template <transport::Transport T>
using Loop = EpochResult (*)(T&, const EpochPlan&, Watch&, std::span<measure::Ticks>) noexcept;

/// Makes the endpoint and its memory ready for an epoch. Both sides do so before either starts: a
/// message may arrive before the target's loop has begun.
template <transport::Transport T, class WantedOp>
void stage(T& endpoint, const LoopKey& key, const EpochPlan& plan) {
  using Op = PingPongOperation<T, WantedOp>;
  const bool latency = key.shape == Shape::latency;
  endpoint.prepare(latency ? Op::kCode : WantedOp::kCode, plan.size);
  const transport::Region window = endpoint.window();
  for (std::uint32_t slot = 0; slot < window.slots; ++slot) {
    if (Op::kFromTarget) {
      memory::fill_pattern(message_in(window, slot, plan.size), tag_of(slot));
    } else {
      clear(message_in(window, slot, plan.size));  // nothing has arrived yet
    }
  }
}

template <transport::Transport T>
struct Entry {
  Loop<T> loop = nullptr;
  void (*stage)(T&, const LoopKey&, const EpochPlan&) = nullptr;
};

namespace detail {

template <transport::Transport T, class Op, class Clock, bool kValidate>
constexpr Loop<T> loop_for(Shape shape, Side side) {
  const bool initiator = side == Side::initiator;
  if (shape == Shape::stream) {
    if (initiator) {
      return Op::kFromTarget ? &read_stream_initiator<T, Op, Clock, kValidate>
                             : &stream_initiator<T, Op, Clock, kValidate>;
    }
    return Op::kNotifies ? &stream_target<T, Op, Clock, kValidate>
                         : &quiet_target<T, Op, Clock, kValidate>;
  }
  if constexpr (Op::kFromTarget) {
    return initiator ? &read_latency_initiator<T, Op, Clock, kValidate>
                     : &quiet_target<T, Op, Clock, kValidate>;
  } else {
    return initiator ? &ping_pong_initiator<T, Op, Clock, kValidate>
                     : &ping_pong_target<T, Op, Clock, kValidate>;
  }
}

template <transport::Transport T, class Op, class Clock>
constexpr Loop<T> loop_for(const LoopKey& key) {
  return key.validate ? loop_for<T, Op, Clock, true>(key.shape, key.side)
                      : loop_for<T, Op, Clock, false>(key.shape, key.side);
}

template <transport::Transport T, class Op>
constexpr Entry<T> entry_for(const LoopKey& key) {
  if constexpr (T::template supports<Op>) {
    if (key.shape == Shape::duplex || key.shape == Shape::open_loop || key.paced) return {};
    return {key.clock == measure::ClockSource::tsc ? loop_for<T, Op, measure::TscClock>(key)
                                                   : loop_for<T, Op, measure::RawClock>(key),
            &stage<T, Op>};
  } else {
    return {};
  }
}

template <transport::Transport T, class... Ops>
constexpr Entry<T> find(const LoopKey& key) {
  Entry<T> entry;
  static_cast<void>(
      ((Ops::kCode == key.operation ? (entry = entry_for<T, Ops>(key), true) : false) || ...));
  return entry;
}

}  // namespace detail

/// The loop and its stage, or two null pointers where the transport does not have the operation. A
/// new operation is one more name in this list.
template <transport::Transport T>
constexpr Entry<T> find_loop(const LoopKey& key) {
  return detail::find<T, transport::Send, transport::Write, transport::WriteImm, transport::Read>(
      key);
}

}  // namespace rdmabench::workload

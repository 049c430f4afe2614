// Read latency: one read at a time, from the post to its data here.
#pragma once

#include <cstdint>
#include <span>

#include "rdmabench/measure/clock.h"
#include "rdmabench/memory/pattern.h"
#include "rdmabench/workload/stream.h"

namespace rdmabench::workload {

/// The initiator: interval i is one whole operation; nothing is halved. Unless it validates, one
/// stamp ends an operation and begins the next.
template <transport::Transport T, class Op, class Clock, bool kValidate>
EpochResult read_latency_initiator(T& endpoint, const EpochPlan& plan, Watch& watch,
                                   std::span<measure::Ticks> intervals) noexcept {
  EpochResult result;
  Inbox<T> inbox(endpoint, plan, watch, result);
  const std::span<std::byte> fetched(endpoint.send_region().data, plan.size);
  measure::Ticks last = Clock::stamp();
  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    if constexpr (kValidate) {
      clear(fetched);
      last = Clock::stamp();
    }
    if (!inbox.template post<Op>(0, 0, transport::Signal::now) || !inbox.drain()) [[unlikely]] {
      result.message = i;
      return result;
    }
    const measure::Ticks now = Clock::stamp();
    intervals[i] = now - last;
    last = now;
    if constexpr (kValidate) {
      const auto wrong = memory::find_mismatch(fetched, tag_of(0));
      if (wrong) {
        result.message = i;
        result.byte = *wrong;
        inbox.end(Outcome::wrong_data, Wait::nothing);
        return result;
      }
      ++result.checked;
    }
  }
  static_cast<void>(inbox.send_token() && inbox.wait_token());
  return result;
}

}  // namespace rdmabench::workload

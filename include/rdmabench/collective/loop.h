// The timed loop: one for every back end, compiled for each.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "rdmabench/collective/backend.h"
#include "rdmabench/collective/heartbeat.h"
#include "rdmabench/measure/clock.h"

namespace rdmabench::collective {

/// When this rank began and ended one sample, by its CLOCK_MONOTONIC_RAW: the clock that can be
/// compared between ranks.
struct Stamps {
  std::uint64_t enter_ns = 0;
  std::uint64_t exit_ns = 0;
};

struct LoopPlan {
  std::uint32_t batch = 1;  ///< operations of one sample, started together
  std::uint32_t slots = 1;  ///< >= batch
  std::uint64_t first_iteration = 0;
  std::uint64_t start_ns = 0;          ///< by this rank's clock: when to begin
  std::chrono::nanoseconds timeout{};  ///< of one sample
  bool yields = false;                 ///< more ranks than processors: give them up while waiting
};

enum class LoopEnd : std::uint8_t { done, failed, timed_out, over };

/// Fills `stamps`, one for each sample. `at` says how many were done where it ended early. Polls
/// the back end without a pause; every 64th empty poll may yield the processor, and every 1024th
/// looks at the clock and at whether the run is over.
template <Backend B>
LoopEnd run_loop(B& backend, const LoopPlan& plan, std::span<Stamps> stamps, LiveRankState& state,
                 const std::atomic<bool>& over, std::size_t& at) noexcept {
  constexpr std::uint32_t kYieldEvery = 64;
  constexpr std::uint32_t kLookEvery = 1024;
  const auto timeout = static_cast<std::uint64_t>(plan.timeout.count());
  std::uint32_t slot = 0;
  while (measure::RawClock::stamp() < plan.start_ns) {
  }
  for (at = 0; at < stamps.size(); ++at) {
    state.at(plan.first_iteration + at * plan.batch);
    Stamps& stamp = stamps[at];
    stamp.enter_ns = measure::RawClock::stamp();
    for (std::uint32_t i = 0; i < plan.batch; ++i) {
      if (!backend.start(slot)) return LoopEnd::failed;
      slot = slot + 1 == plan.slots ? 0 : slot + 1;
    }
    Progress progress = backend.test();
    for (std::uint32_t empty = 1; progress == Progress::again; ++empty) {
      if (empty % kYieldEvery == 0) {
        if (plan.yields) sched_yield();
        if (empty % kLookEvery == 0) {
          if (over.load(std::memory_order_relaxed)) return LoopEnd::over;
          if (measure::RawClock::stamp() - stamp.enter_ns > timeout) return LoopEnd::timed_out;
        }
      }
      progress = backend.test();
    }
    stamp.exit_ns = measure::RawClock::stamp();
    if (progress == Progress::failed) return LoopEnd::failed;
  }
  return LoopEnd::done;
}

}  // namespace rdmabench::collective

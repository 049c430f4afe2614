// Waits for a GPU with a limit, which the driver's waits lack.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "context_access.h"
#include "gpu/stream.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"

namespace rdmabench::gpu {

inline Progress progress_of(cuda::Result result) noexcept {
  if (result == cuda::kSuccess) return Progress::done;
  return result == cuda::kNotReady ? Progress::busy : Progress::failed;
}

/// Calls `poll` with the context current until it is not busy; `fail` throws. Polls without a pause
/// at first, because most work is short, then every 20 us.
template <class Poll, class Fail>
void poll_until(const Context& context, const Deadline& deadline, std::string_view what, Poll poll,
                Fail fail) {
  constexpr int kEagerPolls = 2000;
  const CurrentContext current(context);
  const auto begin = Deadline::Clock::now();
  for (int polls = 0;; ++polls) {
    const Progress progress = poll();
    if (progress == Progress::done) return;
    if (progress == Progress::failed) fail();
    if (deadline.passed()) break;
    if (polls > kEagerPolls) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  ContextAccess::state(context).give_up();
  const std::chrono::duration<double> waited = Deadline::Clock::now() - begin;
  throw Error(Fault::failed,
              fmt::format("{} on cuda:{} was not done within {:.3g} s", what,
                          context.device().ordinal, waited.count()),
              "Look with nvidia-smi whether another process keeps the GPU busy, and into dmesg for "
              "NVRM: Xid");
}

}  // namespace rdmabench::gpu

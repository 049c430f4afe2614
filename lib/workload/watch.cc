#include "rdmabench/workload/watch.h"

#include <sched.h>

namespace rdmabench::workload {

bool Watch::look() noexcept {
  constexpr auto kBetweenQuestions = std::chrono::milliseconds(10);
  const auto now = Clock::now();
  if (idle_polls_ == kPollsPerLook) idle_since_ = asked_ = now;
  if (now - idle_since_ >= limit_) {
    outcome_ = Outcome::stalled;
    return true;
  }
  if (now - asked_ >= kBetweenQuestions) {
    asked_ = now;
    if (interrupted_ && interrupted_()) {
      outcome_ = Outcome::interrupted;
      return true;
    }
  }
  sched_yield();
  return false;
}

}  // namespace rdmabench::workload

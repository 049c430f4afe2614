#include "rdmabench/workload/epoch.h"

#include <sched.h>

namespace rdmabench::inline v1::workload {

namespace {
constexpr auto kBetweenQuestions = std::chrono::milliseconds(10);
}

bool Watch::ask() noexcept {
  if (!interrupted_ || !interrupted_()) return false;
  outcome_ = Outcome::interrupted;
  return true;
}

bool Watch::interrupted() noexcept {
  const auto now = Clock::now();
  if (now - asked_at_work_ < kBetweenQuestions) return false;
  asked_at_work_ = now;
  return ask();
}

bool Watch::look() noexcept {
  const auto now = Clock::now();
  if (idle_polls_ == polls_per_look_) idle_since_ = asked_ = now;
  if (nothing_due_) idle_since_ = now;
  nothing_due_ = false;
  const bool asks = now - asked_ >= kBetweenQuestions;
  if (asks && !extent_.whole) {
    const std::uint64_t before = extent_.iterations;
    extend(extent_);
    if (sees_none_ && extent_.iterations > before) idle_since_ = now;
    if (extent_.over) {
      outcome_ = Outcome::interrupted;
      return true;
    }
  }
  const bool over = now - idle_since_ >= limit_;
  if ((over || asks) && device_failed_ != nullptr && device_failed_(device_)) {
    outcome_ = Outcome::completion_failed;
    return true;
  }
  if (over) {
    outcome_ = Outcome::stalled;
    return true;
  }
  if (asks) {
    asked_ = now;
    if (ask()) return true;
    // While more may come, what the peer says is no result.
    if (extent_.whole && answered_ && answered_()) has_answer_ = true;
  }
  if (rest_ && rest_(now - idle_since_)) {
    if (polls_per_look_ > 1) idle_polls_ += kPollsPerLook - kPollsPerRest;
  } else if (polls_per_look_ > 1) {
    sched_yield();
  }
  return false;
}

}  // namespace rdmabench::inline v1::workload

#include "gpu/event.h"

#include <fmt/format.h>

#include <utility>

#include "context_access.h"
#include "gpu/cuda_error.h"
#include "poll_until.h"

namespace rdmabench::gpu {

Event::Event(const Context& context, Timing timing) : context_(context) {
  const CurrentContext current(context_);
  const unsigned flags = timing == Timing::yes ? cuda::kEventDefault : cuda::kEventDisableTiming;
  check(context_.driver(), context_.driver().event_create(&event_, flags),
        fmt::format("cuEventCreate(cuda:{})", context_.device().ordinal));
}

Event::~Event() {
  release();
}

Event::Event(Event&& other) noexcept
    : context_(other.context_),
      event_(std::exchange(other.event_, nullptr)),
      result_(other.result_) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(event_, other.event_);
  std::swap(result_, other.result_);
  return *this;
}

void Event::release() noexcept {
  if (event_ == nullptr) return;
  destroy_in(context_, [this](const Driver& driver) { driver.event_destroy(event_); });
}

bool Event::record(const Stream& stream) noexcept {
  result_ = context_.driver().event_record(event_, stream.get());
  return result_ == cuda::kSuccess;
}

Progress Event::poll() noexcept {
  result_ = context_.driver().event_query(event_);
  return progress_of(result_);
}

void Event::synchronize(const Deadline& deadline, std::string_view what) {
  poll_until(
      context_, deadline, what, [this] { return poll(); },
      [&] {
        throw cuda_error(context_.driver(), result_,
                         fmt::format("{} on cuda:{}", what, context_.device().ordinal));
      });
}

std::chrono::duration<double, std::nano> elapsed(const Event& begin, const Event& end) {
  const CurrentContext current(begin.context_);
  float milliseconds = 0;
  check(begin.context_.driver(),
        begin.context_.driver().event_elapsed_time(&milliseconds, begin.event_, end.event_),
        "cuEventElapsedTime()", "Both events must have timing, and must be recorded and reached");
  return std::chrono::duration<double, std::milli>(milliseconds);
}

}  // namespace rdmabench::gpu

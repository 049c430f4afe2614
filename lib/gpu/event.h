// A CUDA event: a point in a stream.
#pragma once

#include <chrono>

#include "gpu/stream.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::gpu {

/// Thread rule: one thread at a time.
class Event {
 public:
  enum class Timing : bool { no, yes };

  /// An event without timing is cheaper. Throws Error(failed).
  explicit Event(const Context& context, Timing timing = Timing::yes);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  CUevent_st* get() const noexcept { return event_; }

  /// Records the event after the present work of the stream. May be called in a loop; the context
  /// must be current in this thread. False: the driver refused, see result().
  bool record(const Stream& stream) noexcept;
  /// Does not wait. May be called in a loop, as record().
  Progress poll() noexcept;
  cuda::Result result() const noexcept { return result_; }

  /// Waits until the event is reached. Throws as Stream::synchronize().
  void synchronize(const Deadline& deadline, std::string_view what = "a CUDA event");

 private:
  friend std::chrono::duration<double, std::nano> elapsed(const Event& begin, const Event& end);
  void release() noexcept;

  Context context_;
  CUevent_st* event_ = nullptr;
  cuda::Result result_ = cuda::kSuccess;
};

/// The time between two events by the GPU's clock, with a resolution of about 0.5 us. Both must
/// have timing, and be recorded and reached; else it throws Error(failed). Source: CUDA Driver API,
/// cuEventElapsedTime.
std::chrono::duration<double, std::nano> elapsed(const Event& begin, const Event& end);

}  // namespace rdmabench::gpu

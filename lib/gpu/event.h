// A point in a stream: whether it was reached, and when.
#pragma once

#include <chrono>

#include "gpu/stream.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::gpu {

/// Thread rule: one thread at a time.
class Event {
 public:
  enum class Timing : bool { no, yes };

  /// One without timing costs the GPU less. Throws Error(failed).
  explicit Event(const Context& context, Timing timing = Timing::yes);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  CUevent_st* get() const noexcept { return event_; }

  /// Is reached once all work that is in the stream now is done. For a loop: needs the context to
  /// be this thread's current one. False: the driver refused, result() says why.
  bool record(const Stream& stream) noexcept;
  /// Does not wait; else as record().
  Progress poll() noexcept;
  cuda::Result result() const noexcept { return result_; }

  /// Waits until it is reached. Throws as Stream::synchronize().
  void synchronize(const Deadline& deadline, std::string_view what = "a CUDA event");

 private:
  friend std::chrono::duration<double, std::nano> elapsed(const Event& begin, const Event& end);
  void release() noexcept;

  Context context_;
  CUevent_st* event_ = nullptr;
  cuda::Result result_ = cuda::kSuccess;
};

/// By the GPU's clock, in steps of about half a microsecond. Both were made with timing, recorded
/// and reached; throws Error(failed) otherwise. Source: CUDA Driver API, cuEventElapsedTime.
std::chrono::duration<double, std::nano> elapsed(const Event& begin, const Event& end);

}  // namespace rdmabench::gpu

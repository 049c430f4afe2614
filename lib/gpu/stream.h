// A queue of work for a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/context.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"

namespace rdmabench::gpu {

class Event;

/// How work that was handed to a GPU stands.
enum class Progress : std::uint8_t { done, busy, failed };

/// Work in a stream is done in the order in which it was given; it does not wait for that of other
/// streams. Thread rule: one thread at a time.
class Stream {
 public:
  /// Throws Error(failed).
  explicit Stream(const Context& context);
  ~Stream();
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream_st* get() const noexcept { return stream_; }
  const Context& context() const noexcept { return context_; }

  /// For a loop: does not wait, and needs the context to be this thread's current one. After
  /// `failed` the context is lost, and failure() says how.
  Progress poll() noexcept;
  cuda::Result result() const noexcept { return result_; }
  /// Of the last poll() that said `failed`; an Error(failed) of it.
  Error failure(std::string_view what) const;

  /// Whether all work is done; throws Error(failed) where it failed.
  bool done();
  /// Waits until all work is done. Throws Error(failed) where it failed or was not done in time;
  /// `what` names the work in the text.
  void synchronize(const Deadline& deadline, std::string_view what = "the work of a CUDA stream");

  /// Work given from here on waits for what `event` has recorded. Throws Error(failed).
  void wait(const Event& event);

 private:
  void release() noexcept;

  Context context_;
  CUstream_st* stream_ = nullptr;
  cuda::Result result_ = cuda::kSuccess;
};

}  // namespace rdmabench::gpu

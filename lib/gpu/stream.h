// A CUDA stream: a queue of work for a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/context.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::gpu {

/// The state of work on a GPU.
enum class Progress : std::uint8_t { done, busy, failed };

/// The work of a stream runs in order, and independently of other streams. Thread rule: one thread
/// at a time.
class Stream {
 public:
  /// Throws Error(failed).
  explicit Stream(const Context& context);
  ~Stream();
  Stream& operator=(Stream&&) = delete;

  CUstream_st* get() const noexcept { return stream_; }
  const Context& context() const noexcept { return context_; }

  /// Does not wait. May be called in a loop; the context must be current in this thread. After
  /// `failed` the context is lost; see failure().
  Progress poll() noexcept;
  cuda::Result result() const noexcept { return result_; }
  /// An Error(failed) for the last poll() that returned `failed`.
  Error failure(std::string_view what) const;

  /// Waits until all work is done. Throws Error(failed), with `what` as the name of the work, if it
  /// failed or was not done before the deadline.
  void synchronize(const Deadline& deadline, std::string_view what = "the work of a CUDA stream");

 private:
  Context context_;
  CUstream_st* stream_ = nullptr;
  cuda::Result result_ = cuda::kSuccess;
};

}  // namespace rdmabench::inline v1::gpu

// A CUDA graph: work of a stream that is recorded once and launched many times.
#pragma once

#include <functional>

#include "gpu/stream.h"

namespace rdmabench::inline v1::gpu {

/// Owns the instantiated graph. Source: CUDA Driver API, "Graph Management". Thread rule: one
/// thread at a time.
class Graph {
 public:
  /// Captures the work that `record` enqueues, and instantiates the graph. Exceptions of `record`
  /// are rethrown after the capture has ended. Throws Error(unavailable) if the driver does not
  /// support graphs, Error(failed) that names the failed step.
  static Graph capture(Stream& stream, const std::function<void(Stream&)>& record);

  ~Graph();
  Graph(Graph&& other) noexcept;

  /// May be called in a loop; the context must be current in this thread. False: the driver
  /// refused, see result().
  bool launch(const Stream& stream) noexcept;
  cuda::Result result() const noexcept { return result_; }

 private:
  Graph(const Context& context, CUgraphExec_st* executable) noexcept;

  Context context_;
  CUgraphExec_st* executable_ = nullptr;
  cuda::Result result_ = cuda::kSuccess;
};

}  // namespace rdmabench::inline v1::gpu

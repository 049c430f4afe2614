// Work of a stream, recorded once and launched as a whole many times.
#pragma once

#include <functional>

#include "gpu/stream.h"

namespace rdmabench::gpu {

/// Owns the instantiated graph. Source: CUDA Driver API, "Graph Management". Thread rule: one
/// thread at a time.
class Graph {
 public:
  /// Records what `record` gives to the stream instead of doing it, and instantiates it. What the
  /// function throws goes through, after the capture has ended. Throws Error(unavailable) where the
  /// driver has no graphs, Error(failed) where it refuses: the text says at which step.
  static Graph capture(Stream& stream, const std::function<void(Stream&)>& record);

  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// For a loop: needs the context to be this thread's current one. False: the driver refused,
  /// result() says why.
  bool launch(const Stream& stream) noexcept;
  cuda::Result result() const noexcept { return result_; }

 private:
  Graph(const Context& context, CUgraphExec_st* executable) noexcept;
  void release() noexcept;

  Context context_;
  CUgraphExec_st* executable_ = nullptr;
  cuda::Result result_ = cuda::kSuccess;
};

}  // namespace rdmabench::gpu

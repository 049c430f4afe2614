#include "gpu/graph.h"

#include <fmt/format.h>

#include <utility>

#include "context_access.h"
#include "gpu/cuda_error.h"

namespace rdmabench::inline v1::gpu {
namespace {

/// A running capture; end() completes it, the destructor discards it.
class Capture {
 public:
  Capture(const Driver& driver, const Stream& stream)
      : driver_(driver), stream_(stream), state_(stream.context().state()) {
    check(driver_, driver_.stream_begin_capture(stream_.get(), cuda::kCaptureThreadLocal),
          "cuStreamBeginCapture()");
    const std::lock_guard lock(state_.mutex);
    std::erase(state_.streams, stream_.get());
  }
  ~Capture() {
    CUgraph_st* graph = nullptr;
    if (open_) driver_.stream_end_capture(stream_.get(), &graph);
    if (graph != nullptr) driver_.graph_destroy(graph);
    const std::lock_guard lock(state_.mutex);
    state_.streams.push_back(stream_.get());
  }
  Capture& operator=(Capture&&) = delete;

  CUgraph_st* end() {
    open_ = false;
    CUgraph_st* graph = nullptr;
    check(driver_, driver_.stream_end_capture(stream_.get(), &graph), "cuStreamEndCapture()",
          "A call during the capture cannot be recorded");
    return graph;
  }

 private:
  const Driver& driver_;
  const Stream& stream_;
  Context::State& state_;
  bool open_ = true;
};

bool has_graphs(const Driver& driver) {
  return driver.stream_begin_capture != nullptr && driver.stream_end_capture != nullptr &&
         driver.graph_instantiate != nullptr && driver.graph_launch != nullptr &&
         driver.graph_exec_destroy != nullptr && driver.graph_destroy != nullptr;
}

}  // namespace

Graph::Graph(const Context& context, CUgraphExec_st* executable) noexcept
    : context_(context), executable_(executable) {}

Graph Graph::capture(Stream& stream, const std::function<void(Stream&)>& record) {
  const Context& context = stream.context();
  const Driver& driver = context.driver();
  if (!has_graphs(driver)) {
    throw Error(
        Fault::unavailable,
        fmt::format("the CUDA driver {} does not support graphs", version_text(driver.version)),
        "Install a newer NVIDIA driver, or run without a graph");
  }
  const CurrentContext current(context);
  Capture open(driver, stream);
  record(stream);
  CUgraph_st* graph = open.end();
  CUgraphExec_st* executable = nullptr;
  const cuda::Result result = driver.graph_instantiate(&executable, graph, 0);
  driver.graph_destroy(graph);  // the executable graph does not need it
  check(driver, result, "cuGraphInstantiate()");
  return {context, executable};
}

Graph::~Graph() {
  if (executable_ == nullptr) return;
  destroy_in(context_, [this](const Driver& driver) { driver.graph_exec_destroy(executable_); });
}

Graph::Graph(Graph&& other) noexcept
    : context_(std::move(other.context_)),
      executable_(std::exchange(other.executable_, nullptr)),
      result_(other.result_) {}

bool Graph::launch(const Stream& stream) noexcept {
  result_ = context_.driver().graph_launch(executable_, stream.get());
  return result_ == cuda::kSuccess;
}

}  // namespace rdmabench::inline v1::gpu

// Streams, graphs, modules and launches of the fake driver.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "fake_cuda.h"
#include "kernels.h"
#include "stream.h"
#include "work_objects.h"

namespace fake_cuda {
namespace {

struct Module {
  std::string image;
  std::map<std::string, const Bind*> functions;
};

/// All objects of the process, by handle.
struct Objects {
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<Graph>> graphs;
  std::map<const void*, std::shared_ptr<Graph>> executables;
  std::map<const void*, std::shared_ptr<Module>> modules;

  template <class T>
  std::shared_ptr<T> find(std::map<const void*, std::shared_ptr<T>>& of, const void* handle) {
    const std::lock_guard lock(mutex);
    const auto found = of.find(handle);
    return found == of.end() ? nullptr : found->second;
  }

  template <class T, class Handle>
  void add(std::map<const void*, std::shared_ptr<T>>& to, std::shared_ptr<T> object,
           Handle** handle) {
    const std::lock_guard lock(mutex);
    *handle = reinterpret_cast<Handle*>(object.get());
    const void* key = object.get();
    to[key] = std::move(object);
  }

  template <class T>
  Result erase(std::map<const void*, std::shared_ptr<T>>& from, const void* handle) {
    const std::lock_guard lock(mutex);
    return from.erase(handle) == 1 ? abi::kSuccess : abi::kInvalidHandle;
  }
};

Objects& objects() {
  static Objects& all = *new Objects;
  return all;
}

}  // namespace

void reset_work_objects() {
  Objects& all = objects();
  const std::lock_guard lock(all.mutex);
  all.graphs.clear();
  all.executables.clear();
  all.modules.clear();
}

int alive_work_objects(const std::string& kind) {
  Objects& all = objects();
  const std::lock_guard lock(all.mutex);
  if (kind == "graph") return static_cast<int>(all.graphs.size());
  if (kind == "graph_exec") return static_cast<int>(all.executables.size());
  if (kind == "module") return static_cast<int>(all.modules.size());
  return -1;
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

Result cuStreamCreate(CUstream_st** stream, unsigned) {
  FAKE_CUDA_ENTER_CONTEXT(cuStreamCreate);
  *stream = Streams::get().add();
  return abi::kSuccess;
}

Result cuStreamDestroy_v2(CUstream_st* stream) {
  FAKE_CUDA_ENTER(cuStreamDestroy_v2);
  return Streams::get().remove(stream);
}

Result cuStreamQuery(CUstream_st* stream) {
  FAKE_CUDA_ENTER_CONTEXT(cuStreamQuery);
  const auto queue = Streams::get().find(stream);
  return queue != nullptr ? queue->query() : abi::kInvalidHandle;
}

Result cuStreamSynchronize(CUstream_st* stream) {
  FAKE_CUDA_ENTER_CONTEXT(cuStreamSynchronize);
  const auto queue = Streams::get().find(stream);
  return queue != nullptr ? queue->wait() : abi::kInvalidHandle;
}

Result cuStreamBeginCapture_v2(CUstream_st* stream, int mode) {
  FAKE_CUDA_ENTER_CONTEXT(cuStreamBeginCapture_v2);
  // Stricter than the driver: the global mode ends with the first cudaMalloc() of any thread, and
  // NCCL may call that.
  if (mode != abi::kCaptureThreadLocal) return abi::kInvalidValue;
  const auto queue = Streams::get().find(stream);
  return queue != nullptr && stream != nullptr ? queue->begin_capture() : abi::kInvalidHandle;
}

Result cuStreamEndCapture(CUstream_st* stream, CUgraph_st** graph) {
  FAKE_CUDA_ENTER_CONTEXT(cuStreamEndCapture);
  const auto queue = Streams::get().find(stream);
  if (queue == nullptr) return abi::kInvalidHandle;
  auto made = std::make_shared<Graph>();
  const Result result = queue->end_capture(*made);
  if (result == abi::kSuccess) objects().add(objects().graphs, std::move(made), graph);
  return result;
}

Result cuGraphInstantiateWithFlags(CUgraphExec_st** executable, CUgraph_st* handle,
                                   unsigned long long) {
  FAKE_CUDA_ENTER_CONTEXT(cuGraphInstantiateWithFlags);
  const auto graph = objects().find(objects().graphs, handle);
  if (graph == nullptr) return abi::kInvalidHandle;
  objects().add(objects().executables, std::make_shared<Graph>(*graph), executable);
  return abi::kSuccess;
}

Result cuGraphLaunch(CUgraphExec_st* handle, CUstream_st* stream) {
  FAKE_CUDA_ENTER_CONTEXT(cuGraphLaunch);
  const auto graph = objects().find(objects().executables, handle);
  const auto queue = Streams::get().find(stream);
  if (graph == nullptr || queue == nullptr) return abi::kInvalidHandle;
  return queue->push([graph]() -> Result {
    for (const Work& work : graph->work) {
      if (const Result result = work()) return result;
    }
    return abi::kSuccess;
  });
}

Result cuGraphExecDestroy(CUgraphExec_st* executable) {
  FAKE_CUDA_ENTER(cuGraphExecDestroy);
  return objects().erase(objects().executables, executable);
}

Result cuGraphDestroy(CUgraph_st* graph) {
  FAKE_CUDA_ENTER(cuGraphDestroy);
  return objects().erase(objects().graphs, graph);
}

Result cuModuleLoadData(CUmod_st** module, const void* image) {
  FAKE_CUDA_ENTER_CONTEXT(cuModuleLoadData);
  const Controls controls = World::get().controls();
  if (controls.jit != abi::kSuccess) return controls.jit;
  auto made = std::make_shared<Module>();
  made->image = static_cast<const char*>(image);
  if (made->image.find(".version ") == std::string::npos) return abi::kInvalidPtx;
  objects().add(objects().modules, std::move(made), module);
  return abi::kSuccess;
}

Result cuModuleGetFunction(CUfunc_st** function, CUmod_st* handle, const char* name) {
  FAKE_CUDA_ENTER_CONTEXT(cuModuleGetFunction);
  const auto module = objects().find(objects().modules, handle);
  if (module == nullptr) return abi::kInvalidHandle;
  const bool in_image =
      module->image.find(".entry " + std::string(name) + "(") != std::string::npos;
  const Bind* kernel = find_kernel(name);
  if (!in_image || kernel == nullptr) return abi::kNotFound;
  *function = reinterpret_cast<CUfunc_st*>(const_cast<Bind*>(kernel));
  return abi::kSuccess;
}

Result cuModuleUnload(CUmod_st* module) {
  FAKE_CUDA_ENTER_CONTEXT(cuModuleUnload);
  return objects().erase(objects().modules, module);
}

Result cuLaunchKernel(CUfunc_st* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                      CUstream_st* stream, void** parameters, void**) {
  FAKE_CUDA_ENTER_CONTEXT(cuLaunchKernel);
  const auto queue = Streams::get().find(stream);
  if (queue == nullptr) return abi::kInvalidHandle;
  if (grid_x == 0 || grid_y == 0 || grid_y > 65535 || grid_z != 1 || block_x == 0 ||
      block_x > 1024 || block_y != 1 || block_z != 1) {
    return abi::kInvalidValue;
  }
  const Launch launch = (*reinterpret_cast<const Bind*>(function))(parameters);
  return queue->push([=] { return launch({grid_x, grid_y, 1}, {block_x, 1, 1}); });
}

int fake_cuda_enqueue(void* stream, void (*function)(void*), void* argument) {
  const auto queue = Streams::get().find(stream);
  if (queue == nullptr) return abi::kInvalidHandle;
  return queue->push([=]() -> Result {
    function(argument);
    return abi::kSuccess;
  });
}

int fake_cuda_enqueue_until(void* stream, void (*function)(void*), void* argument,
                            void (*released)(void*)) {
  const auto queue = Streams::get().find(stream);
  if (queue == nullptr) return abi::kInvalidHandle;
  const std::shared_ptr<void> owned(argument, released);
  return queue->push([=]() -> Result {
    function(owned.get());
    return abi::kSuccess;
  });
}

int fake_cuda_is_capturing(void* stream) {
  const auto queue = Streams::get().find(stream);
  return queue != nullptr && queue->is_capturing() ? 1 : 0;
}

void fake_cuda_fail_stream(void* stream, int result) {
  if (const auto queue = Streams::get().find(stream)) queue->fail(result);
}

void fake_cuda_unstick(void) {
  Streams::get().unstick_all();
}
}

// A user's profiler plugin with an older version than the library's newest: it requests no events,
// and is recognized by its name.
#include "profiler_abi.h"

namespace abi = rdmabench::collective::nccl;
namespace profiler = rdmabench::collective::nccl::profiler;

namespace {

abi::Result begin(void** context, int* mask, const char* /*comm_name*/, std::uint64_t /*hash*/,
                  int /*nodes*/, int /*ranks*/, int /*rank*/, profiler::Logger /*log*/) {
  *context = mask;
  *mask = 0;
  return abi::kSuccess;
}
abi::Result start(void* /*context*/, void** handle, profiler::Event4* /*event*/) {
  *handle = nullptr;
  return abi::kSuccess;
}
abi::Result stop(void* /*handle*/) {
  return abi::kSuccess;
}
abi::Result record(void* /*handle*/, int /*state*/, void* /*arguments*/) {
  return abi::kSuccess;
}

}  // namespace

extern "C" {
extern const profiler::Table4 ncclProfiler_v4;
const profiler::Table4 ncclProfiler_v4{"users", begin, start, stop, record, stop};
}

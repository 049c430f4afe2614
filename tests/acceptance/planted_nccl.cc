// Takes the place of libnccl.so.2 on one rank (RDMABENCH_NCCL) and plants a fault there, with the
// real library as with the fake one. It is linked with libnccl.so.2, so that dlsym(3) finds all
// other functions there.
//   PLANTED_NCCL=corrupt   every all-reduce has a wrong byte at offset 100 of its result
//   PLANTED_NCCL=late      every all-reduce returns 20 ms late, so that the next one begins late
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "nccl_abi.h"

namespace abi = rdmabench::collective::nccl;

namespace {

constexpr std::size_t kByte = 100;
constexpr auto kLate = std::chrono::milliseconds(20);

bool planted(std::string_view what) {
  const char* const text = std::getenv("PLANTED_NCCL");
  return text != nullptr && what == text;
}

template <class Function>
Function* find(void* handle, const char* name) {
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

void* driver() {
  static void* const handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

}  // namespace

extern "C" {

// Link it in: without a call of it the linker could leave the real library out.
abi::Result ncclGetVersion(int* version);
void* planted_nccl_needs() {
  return reinterpret_cast<void*>(&ncclGetVersion);
}

__attribute__((visibility("default"))) abi::Result ncclAllReduce(const void* send, void* receive,
                                                                 std::size_t count, abi::Type type,
                                                                 abi::RedOp op, abi::Comm* comm,
                                                                 abi::Stream stream) {
  static auto* const real = find<abi::AllReduce>(RTLD_NEXT, "ncclAllReduce");
  static auto* const set = find<int(unsigned long long, unsigned char, std::size_t, abi::Stream)>(
      driver(), "cuMemsetD8Async");
  const abi::Result result = real(send, receive, count, type, op, comm, stream);
  if (planted("corrupt")) {
    set(reinterpret_cast<unsigned long long>(receive) + kByte, 1, 1, stream);
  }
  if (planted("late")) std::this_thread::sleep_for(kLate);
  return result;
}

}  // extern "C"

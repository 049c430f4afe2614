#include "kernels.h"

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "memory.h"

// Definitions of what CUDA's compiler provides, so that kernels.cu compiles unchanged.
#define __global__
#define __device__

namespace fake_cuda {
namespace {

struct IllegalAddress {};

thread_local Dim gridDim;
thread_local Dim blockDim;
thread_local Dim blockIdx;
thread_local Dim threadIdx;

int __ffsll(long long bits) {
  return __builtin_ffsll(bits);
}

// One thread runs the whole grid.
void atomicMin(unsigned long long* to, unsigned long long value) {
  if (value < *to) *to = value;
}

unsigned char* device_memory(unsigned long long address) {
  std::byte* bytes = Memory::get().host(address, 1);
  if (bytes == nullptr) throw IllegalAddress{};
  return reinterpret_cast<unsigned char*>(bytes);
}

#define RDMABENCH_DEVICE_MEMORY(address) device_memory(address)
#include "../../../lib/gpu/kernels.cu"

template <class Function>
void for_each_thread(const Dim& grid, const Dim& block, Function function) {
  gridDim = grid;
  blockDim = block;
  for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y) {
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
      for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) function();
    }
  }
}

template <class... Arguments, std::size_t... I>
std::tuple<Arguments...> read(void** parameters, std::index_sequence<I...>) {
  return {*static_cast<Arguments*>(parameters[I])...};
}

template <class... Arguments>
Bind bind(void (*kernel)(Arguments...)) {
  return [kernel](void** parameters) -> Launch {
    const auto arguments = read<Arguments...>(parameters, std::index_sequence_for<Arguments...>());
    return [kernel, arguments](const Dim& grid, const Dim& block) -> Result {
      try {
        for_each_thread(grid, block, [&] { std::apply(kernel, arguments); });
      } catch (const IllegalAddress&) {
        return abi::kIllegalAddress;
      }
      return abi::kSuccess;
    };
  };
}

}  // namespace

const Bind* find_kernel(std::string_view name) {
  static const std::map<std::string, Bind, std::less<>> kernels = {
      {"rdmabench_fill", bind(rdmabench_fill)},
      {"rdmabench_find_mismatch", bind(rdmabench_find_mismatch)},
      {"rdmabench_write_tiles", bind(rdmabench_write_tiles)},
      {"rdmabench_compare_tiles", bind(rdmabench_compare_tiles)},
  };
  const auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : &found->second;
}

}  // namespace fake_cuda

// The configuration of the fake driver, and the calls made of it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "gpu/cuda_abi.h"

namespace fake_cuda {

namespace abi = rdmabench::gpu::cuda;
using abi::Result;
using rdmabench::gpu::DevicePointer;

/// From the environment, see fake_cuda.h.
struct Controls {
  int devices = 2;
  std::vector<std::string> pci;
  int driver = 12080;
  Result init = abi::kSuccess;
  std::uint64_t memory = 1U << 30;
  std::uint64_t align = 65536;
  std::string name = "Fake GPU";
  int compute_mode = 0;
  bool dma_buf = true;
  bool pcie = true;
  bool vmm = true;
  bool vmm_rdma = true;
  bool rdma = true;
  bool coherent = false;
  int ordering = 200;
  int flush = 1;
  Result jit = abi::kSuccess;
  bool spend = false;
  std::uint64_t stuck = 0;  ///< 0: none
  struct Failure {
    std::string name;
    int call;  ///< 0: every call
    Result result;
  };
  std::vector<Failure> failures;
};

Controls read_controls();

/// One for the process, never destroyed: threads may still run when the process ends.
class World {
 public:
  static World& get();

  /// A copy, because another thread may reset it.
  Controls controls();
  void reload();

  /// Counts the call. Returns the error that it must return, or success.
  Result called(const char* name);
  int calls(const std::string& name);
  /// Between host and GPU.
  void copied(std::uint64_t bytes);
  long long cost_us();

  /// The export of a dma-buf's descriptor, until the number is reused.
  void remember_mapping(int descriptor, bool pcie);
  bool is_pcie(int descriptor);

 private:
  std::mutex mutex_;
  Controls controls_ = read_controls();
  std::map<std::string, int> calls_;
  std::uint64_t copied_ = 0;
  std::map<int, bool> pcie_;
};

/// The device of this thread's current context; -1 if none.
int current_device();
/// How many devices have a retained context.
int retained_contexts();
void reset_contexts();

}  // namespace fake_cuda

/// Called first in each function of the driver.
#define FAKE_CUDA_ENTER(name)                                                        \
  do {                                                                               \
    if (const int injected = fake_cuda::World::get().called(#name)) return injected; \
  } while (false)

/// The same for functions that need a context.
#define FAKE_CUDA_ENTER_CONTEXT(name) \
  FAKE_CUDA_ENTER(name);              \
  if (fake_cuda::current_device() < 0) return fake_cuda::abi::kInvalidContext

// The parts of a context that only its objects use.
#pragma once

#include <chrono>
#include <mutex>
#include <vector>

#include "gpu/context.h"

namespace rdmabench::inline v1::gpu {

struct Context::State {
  State(const Driver& table, DeviceInfo info);
  ~State();
  State& operator=(State&&) = delete;

  /// Whether no stream of the context is busy, see Context. The context must be current.
  bool wait_idle() noexcept;
  /// Called after a deadline has passed: later calls of idle checks do not wait.
  void give_up() noexcept;

  const Driver& driver;
  DeviceInfo device;
  cuda::Device handle = 0;
  CUctx_st* context = nullptr;

  std::mutex mutex;
  /// Guarded by `mutex`; without streams under capture, because a query would end the capture.
  std::vector<CUstream_st*> streams;
  bool hopeless = false;  ///< guarded by `mutex`: a wait has expired and no stream has ended since

 private:
  bool idle_now() const noexcept;
};

/// Calls `destroy` with the context current, for objects that the driver destroys after their use.
template <class Destroy>
void destroy_in(const Context& context, Destroy destroy) noexcept {
  const Driver& driver = context.state().driver;
  if (driver.ctx_push_current(context.get()) != cuda::kSuccess) return;
  destroy(driver);
  CUctx_st* popped = nullptr;
  driver.ctx_pop_current(&popped);
}

/// The same for objects for which the driver would wait: only if no stream is busy, else never.
template <class Free>
void free_in(const Context& context, Free free) noexcept {
  destroy_in(context, [&](const Driver& driver) {
    if (context.state().wait_idle()) free(driver);
  });
}

}  // namespace rdmabench::inline v1::gpu

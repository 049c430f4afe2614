// What the objects of a context need of it besides its public face.
#pragma once

#include <chrono>
#include <mutex>
#include <vector>

#include "gpu/context.h"

namespace rdmabench::gpu {

struct Context::State {
  State(const Driver& table, DeviceInfo info);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Whether no stream of ours is busy any more, see Context. The context is current.
  bool wait_idle() noexcept;
  /// Somebody's deadline has passed: the next wait is none.
  void give_up() noexcept;

  const Driver& driver;
  DeviceInfo device;
  cuda::Device handle = 0;
  CUctx_st* context = nullptr;

  std::mutex mutex;
  /// Of `mutex`; without those that are being captured, for a query would end their capture.
  std::vector<CUstream_st*> streams;
  bool hopeless = false;  ///< of `mutex`: a wait was in vain, and nothing has ended since

 private:
  bool idle_now() const noexcept;
};

struct ContextAccess {
  static Context::State& state(const Context& context) noexcept { return *context.state_; }
};

/// Calls `destroy` with the context current: what the driver itself puts off while it is in use.
template <class Destroy>
void destroy_in(const Context& context, Destroy destroy) noexcept {
  const Driver& driver = ContextAccess::state(context).driver;
  if (driver.ctx_push_current(context.get()) != cuda::kSuccess) return;
  destroy(driver);
  CUctx_st* popped = nullptr;
  driver.ctx_pop_current(&popped);
}

/// The same of what the driver waits for, once no stream is busy; not at all otherwise.
template <class Free>
void free_in(const Context& context, Free free) noexcept {
  destroy_in(context, [&](const Driver& driver) {
    if (ContextAccess::state(context).wait_idle()) free(driver);
  });
}

}  // namespace rdmabench::gpu

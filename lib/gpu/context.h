// A CUDA context.
#pragma once

#include <memory>

#include "gpu/device.h"
#include "gpu/driver.h"

namespace rdmabench::inline v1::gpu {

/// The primary context of a device, which NCCL and the CUDA runtime use too. Copies share one
/// context; it is released with the last copy and the last object made in it. Source: CUDA Driver
/// API, cuDevicePrimaryCtxRetain.
///
/// The driver waits without a limit for running work before it frees memory. So nothing is freed
/// while a stream of the context is busy: destructors wait at most two seconds for the streams.
/// After such a wait or a deadline has expired, they do not wait until the streams are done. What
/// they cannot free is left until the end of the process.
///
/// Thread rule: any thread; make_current() acts on the thread that calls it.
class Context {
 public:
  /// Throws as devices(), Error(usage) for an unknown ordinal, Error(failed).
  explicit Context(int ordinal);
  /// The same with a driver that the caller has loaded and that outlives the context.
  Context(const Driver& driver, int ordinal);

  /// Makes the context current for this thread: for calls of NCCL and the noexcept calls of Stream
  /// and Graph. Throws Error(failed).
  void make_current() const;

  const DeviceInfo& device() const noexcept;
  const Driver& driver() const noexcept;
  CUctx_st* get() const noexcept;

  struct State;                                      ///< private to this room
  State& state() const noexcept { return *state_; }  ///< for this room alone

 private:
  std::shared_ptr<State> state_;
};

/// Makes a context current in this thread for a scope, and restores the previous one afterwards.
class CurrentContext {
 public:
  /// Throws Error(failed).
  explicit CurrentContext(const Context& context);
  ~CurrentContext();
  CurrentContext& operator=(CurrentContext&&) = delete;

 private:
  const Context& context_;
};

}  // namespace rdmabench::inline v1::gpu

// The context in which a process works on a GPU.
#pragma once

#include <memory>

#include "gpu/device.h"
#include "gpu/driver.h"

namespace rdmabench::gpu {

/// A device's primary context, the one that NCCL and the CUDA runtime use too; kept until the last
/// copy and the last object made in it are gone. Copies are of one context. Source: CUDA Driver
/// API, cuDevicePrimaryCtxRetain.
///
/// The driver frees memory only once the work under way has ended, and waits for that without a
/// limit. So none is freed while a stream of the context is busy: destructors wait for it for two
/// seconds at most, and not at all once a wait was in vain or a deadline has passed, until the
/// streams are done; they leave to the end of the process what they would free.
///
/// Thread rule: any thread; make_current() acts on the thread that calls it.
class Context {
 public:
  /// Throws as devices() does, Error(usage) for an ordinal that is not there, Error(failed).
  explicit Context(int ordinal);
  /// The same by a driver that the caller has loaded, which outlives the context.
  Context(const Driver& driver, int ordinal);

  /// From here on this thread's calls without a guard are of this context: NCCL's, and the noexcept
  /// ones of Stream, Event and Graph. Throws Error(failed).
  void make_current() const;

  const DeviceInfo& device() const noexcept;
  const Driver& driver() const noexcept;
  CUctx_st* get() const noexcept;

  struct State;  ///< of this room's own sources

 private:
  friend struct ContextAccess;
  std::shared_ptr<State> state_;
};

/// Makes a context current in this thread for a scope, and what was current before it afterwards.
class CurrentContext {
 public:
  /// Throws Error(failed).
  explicit CurrentContext(const Context& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Context& context_;
};

}  // namespace rdmabench::gpu

// Binds threads to processors.
#pragma once

#include <vector>

#include "rdmabench/features.h"

namespace rdmabench::inline v1 {

/// The processors that the calling thread may use, in ascending order. Source:
/// sched_getaffinity(2).
std::vector<int> processors();

/// Binds the calling thread to one processor. Throws Error(usage) that lists the allowed
/// processors. Source: sched_setaffinity(2).
void pin_this_thread(int cpu);

/// Binds the calling thread to one processor until the object is destroyed; then the thread may use
/// the processors that it could use before. Throws as pin_this_thread(). One thread must create and
/// destroy it.
class PinnedThread {
 public:
  explicit PinnedThread(int cpu);
  ~PinnedThread();
  PinnedThread& operator=(PinnedThread&&) = delete;

 private:
  std::vector<int> before_ = processors();
};

/// As pin_this_thread(), without an exception: false if the processor is not allowed.
bool try_pin_this_thread(int cpu) noexcept;

}  // namespace rdmabench::inline v1

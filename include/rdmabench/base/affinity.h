// On which processors threads run.
#pragma once

#include <vector>

namespace rdmabench {

/// Those that the calling thread may use, in order. Source: sched_getaffinity(2).
std::vector<int> processors();

/// Binds the calling thread to one processor. Throws Error(usage) that lists the processors it may
/// use. Source: sched_setaffinity(2).
void pin_this_thread(int cpu);

/// The same for where nothing may be thrown: false when the processor cannot be had.
bool try_pin_this_thread(int cpu) noexcept;

}  // namespace rdmabench

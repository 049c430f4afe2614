#include "rdmabench/base/affinity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <cerrno>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {

std::vector<int> processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> found;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) found.push_back(cpu);
  }
  return found;
}

PinnedThread::PinnedThread(int cpu) {
  pin_this_thread(cpu);
}

PinnedThread::~PinnedThread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : before_) CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

bool try_pin_this_thread(int cpu) noexcept {
  if (cpu < 0 || cpu >= CPU_SETSIZE) {
    errno = EINVAL;
    return false;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

void pin_this_thread(int cpu) {
  if (try_pin_this_thread(cpu)) return;
  const int code = errno;
  throw Error(Fault::usage, fmt::format("sched_setaffinity(cpu {})", cpu),
              fmt::format("This process may use the processors {}.", fmt::join(processors(), ", ")),
              code);
}

}  // namespace rdmabench::inline v1

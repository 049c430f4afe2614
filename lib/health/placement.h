// Where a measuring thread ran: pinned or not, moved or not, alone on its core or not.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace rdmabench::health {

/// Of one thread during a run. What an unprivileged thread could not learn has no value.
struct Placement {
  std::string affinity;    ///< the CPUs it might use: "0-3,8"; "" if not known
  std::uint32_t cpus = 0;  ///< how many these are; 1: it is pinned
  int cpu_begin = -1;      ///< where it was; -1 if not known
  int cpu_end = -1;
  std::optional<std::uint64_t> migrations;  ///< the scheduler's count
  std::uint64_t voluntary_switches = 0;     ///< it waited for something
  std::uint64_t involuntary_switches = 0;   ///< something else got its CPU
  double watched_ns = 0;                    ///< from begin() to end()
  int numa_node = -1;                       ///< of cpu_end
  std::string governor;                     ///< of cpu_end's frequency: "performance"; "" if none
  std::optional<double> sibling_busy;  ///< share of the time that another thread of the core worked
  std::optional<double> stolen;        ///< share of the time that a hypervisor took from the CPU

  /// At least this often, also where the scheduler's count cannot be read.
  std::uint64_t moves() const {
    return migrations.value_or(0) > 0 ? *migrations : (cpu_begin != cpu_end ? 1U : 0U);
  }
};

/// Watches the thread that calls it. begin() and end() read a few files each: call them outside of
/// every epoch, on the same thread. `root` holds sys and proc; a test gives another directory.
/// Sources: sched_getaffinity(2), getrusage(2) RUSAGE_THREAD, /proc/thread-self/sched, proc(5)
/// stat, Documentation/ABI/testing/sysfs-devices-system-cpu.
class ThreadWatch {
 public:
  explicit ThreadWatch(std::string root = "/") : root_(std::move(root)) {}

  void begin();

  /// May be called again for a longer span; without begin() it tells the end alone.
  Placement end() const;

 private:
  /// Of /proc/stat, in the kernel's ticks of 10 ms.
  struct CpuTime {
    std::uint64_t busy = 0;
    std::uint64_t stolen = 0;
    std::uint64_t total = 0;
  };
  struct State {
    int cpu = -1;
    std::optional<std::uint64_t> migrations;
    std::uint64_t voluntary = 0;
    std::uint64_t involuntary = 0;
    std::chrono::steady_clock::time_point at;
    std::string stat;  ///< the text of /proc/stat
  };

  State read_state() const;
  void add_cpu_times(const State& now, Placement& placement) const;
  static std::optional<CpuTime> cpu_time(const std::string& stat, std::uint64_t cpu);

  std::string root_;
  std::optional<State> begin_;
};

}  // namespace rdmabench::health

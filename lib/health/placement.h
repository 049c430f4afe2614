// Where a measuring thread ran: pinned or not, moved or not, alone on its core or not.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace rdmabench::inline v1::health {

/// Where one thread ran during a run. Values that need a privilege may be missing.
struct ThreadPlacement {
  std::string affinity;    ///< the CPUs it could use: "0-3,8"; "" if not known
  std::uint32_t cpus = 0;  ///< their number; 1: it is pinned
  int cpu_begin = -1;      ///< where it started; -1 if not known
  int cpu_end = -1;
  std::optional<std::uint64_t> migrations;  ///< as counted by the scheduler
  std::uint64_t voluntary_switches = 0;     ///< it waited
  std::uint64_t involuntary_switches = 0;   ///< another thread took its CPU
  double watched_ns = 0;                    ///< from begin() to end()
  int numa_node = -1;                       ///< of cpu_end
  std::string governor;                ///< frequency governor of cpu_end: "performance"; "" if none
  std::optional<double> sibling_busy;  ///< share of the time that the core's other thread was busy
  std::optional<double> stolen;        ///< share of the CPU's time that a hypervisor took

  /// At least this many migrations, even if the scheduler's count cannot be read.
  std::uint64_t moves() const {
    return migrations.value_or(0) > 0 ? *migrations : (cpu_begin != cpu_end ? 1U : 0U);
  }
};

/// Watches the calling thread. begin() and end() read a few files each: call them outside of
/// epochs, on the same thread. `root` contains sys and proc; tests give another directory. Sources:
/// sched_getaffinity(2), getrusage(2) RUSAGE_THREAD, /proc/thread-self/sched, proc(5) stat,
/// Documentation/ABI/testing/sysfs-devices-system-cpu.
class ThreadWatch {
 public:
  explicit ThreadWatch(std::string root = "/") : root_(std::move(root)) {}

  void begin();

  /// May be called again for a longer span; without begin() only the values at the end are set.
  ThreadPlacement end() const;

 private:
  /// From /proc/stat, in ticks of 10 ms.
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
  void add_cpu_times(const State& now, ThreadPlacement& placement) const;
  static std::optional<CpuTime> cpu_time(const std::string& stat, std::uint64_t cpu);

  std::string root_;
  std::optional<State> begin_;
};

}  // namespace rdmabench::inline v1::health

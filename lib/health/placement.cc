#include "health/placement.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "rdmabench/measure/clock.h"

namespace rdmabench::inline v1::health {
namespace {

namespace fs = std::filesystem;

/// Formats a set of CPUs as the kernel's list, "0-3,8".
std::string list_of(const cpu_set_t& set) {
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set) == 0) continue;
    const int first = cpu;
    while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, &set) != 0) ++cpu;
    text += text.empty() ? "" : ",";
    text += first == cpu ? fmt::format("{}", first) : fmt::format("{}-{}", first, cpu);
  }
  return text;
}

/// Parses such a list up to the first invalid number.
std::vector<std::uint64_t> cpus_in(std::string_view list) {
  constexpr std::uint64_t kMost = 4096;
  std::vector<std::uint64_t> cpus;
  for_each_range(list, [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t cpu = first; cpu <= std::min(last, kMost); ++cpu) cpus.push_back(cpu);
  });
  return cpus;
}

fs::path cpu_folder(const std::string& root, int cpu) {
  return fs::path(root) / "sys/devices/system/cpu" / fmt::format("cpu{}", cpu);
}

/// A CPU's folder has a link "nodeN" to its NUMA node.
int node_of(const fs::path& folder) {
  int error = 0;
  for (const std::string& name : list_folder(folder, error)) {
    if (!name.starts_with("node")) continue;
    if (const auto node = to_number(std::string_view(name).substr(4))) {
      return static_cast<int>(*node);
    }
  }
  return -1;
}

/// "se.nr_migrations   :    3" in /proc/thread-self/sched.
std::optional<std::uint64_t> migrations(const std::string& root) {
  return to_number(
      value_after(read_file(fs::path(root) / "proc/thread-self/sched").text, "se.nr_migrations"));
}

}  // namespace

ThreadWatch::State ThreadWatch::read_state() const {
  State state;
  state.at = std::chrono::steady_clock::now();
  // A move between the two reads would be counted, and not seen: "from CPU 1 to 1".
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    state.cpu = measure::current_cpu();
    state.migrations = migrations(root_);
    if (measure::current_cpu() == state.cpu) break;
  }
  state.stat = read_file(fs::path(root_) / "proc/stat").text;
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) == 0) {
    state.voluntary = static_cast<std::uint64_t>(usage.ru_nvcsw);
    state.involuntary = static_cast<std::uint64_t>(usage.ru_nivcsw);
  }
  return state;
}

void ThreadWatch::begin() {
  begin_ = read_state();
}

ThreadPlacement ThreadWatch::end() const {
  const State now = read_state();
  const State then = begin_.value_or(now);
  ThreadPlacement placement;
  placement.cpu_begin = then.cpu;
  placement.cpu_end = now.cpu;
  if (then.migrations && now.migrations) placement.migrations = *now.migrations - *then.migrations;
  placement.voluntary_switches = now.voluntary - then.voluntary;
  placement.involuntary_switches = now.involuntary - then.involuntary;
  placement.watched_ns = std::chrono::duration<double, std::nano>(now.at - then.at).count();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    placement.affinity = list_of(set);
    placement.cpus = static_cast<std::uint32_t>(CPU_COUNT(&set));
  }
  if (now.cpu < 0) return placement;
  const fs::path folder = cpu_folder(root_, now.cpu);
  placement.numa_node = node_of(folder);
  placement.governor = first_line(folder / "cpufreq/scaling_governor");
  add_cpu_times(now, placement);
  return placement;
}

void ThreadWatch::add_cpu_times(const State& now, ThreadPlacement& placement) const {
  if (!begin_ || begin_->cpu != now.cpu) return;  // meaningless if the thread moved
  constexpr std::uint64_t kFewTicks = 20;         // at least 200 ms in ticks of 10 ms
  const auto share = [&](std::uint64_t cpu, std::uint64_t CpuTime::*part) {
    const auto before = cpu_time(begin_->stat, cpu);
    const auto after = cpu_time(now.stat, cpu);
    std::optional<double> result;
    if (before && after && after->total >= before->total + kFewTicks &&
        (*after).*part >= (*before).*part) {
      result = static_cast<double>((*after).*part - (*before).*part) /
               static_cast<double>(after->total - before->total);
    }
    return result;
  };
  const auto own = static_cast<std::uint64_t>(now.cpu);
  placement.stolen = share(own, &CpuTime::stolen);
  const fs::path siblings = cpu_folder(root_, now.cpu) / "topology/thread_siblings_list";
  for (const std::uint64_t cpu : cpus_in(first_line(siblings))) {
    if (cpu == own) continue;
    if (const auto busy = share(cpu, &CpuTime::busy)) {
      placement.sibling_busy = std::max(placement.sibling_busy.value_or(0), *busy);
    }
  }
}

/// "cpu3 user nice system idle iowait irq softirq steal guest guest_nice"; guests are in user.
std::optional<ThreadWatch::CpuTime> ThreadWatch::cpu_time(const std::string& stat,
                                                          std::uint64_t cpu) {
  const std::string key = fmt::format("\ncpu{} ", cpu);
  const std::size_t found = stat.find(key);
  if (found == std::string::npos) return std::nullopt;
  constexpr std::size_t kIdle = 3;
  constexpr std::size_t kWait = 4;
  constexpr std::size_t kSteal = 7;
  std::array<std::uint64_t, kSteal + 1> columns{};
  const char* at = stat.data() + found + key.size();
  const char* const end = stat.data() + stat.size();
  for (std::uint64_t& column : columns) {
    while (at != end && *at == ' ') ++at;
    const auto [stopped, status] = std::from_chars(at, end, column);
    if (status != std::errc()) return std::nullopt;
    at = stopped;
  }
  CpuTime time;
  for (const std::uint64_t column : columns) time.total += column;
  time.stolen = columns[kSteal];
  time.busy = time.total - columns[kIdle] - columns[kWait] - columns[kSteal];
  return time;
}

}  // namespace rdmabench::inline v1::health

// A named fact: what a run used and where it ran.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace rdmabench::report {

/// One fact. Where the value has a unit the name ends in it: "memlock_limit_bytes", "duration_s".
/// Names are snake_case. A peer's facts may hold any bytes: every writer escapes them.
struct Fact {
  std::string name;
  std::variant<std::string, double, std::uint64_t, bool> value;
};

/// In the order in which they are written. Names do not repeat.
using Facts = std::vector<Fact>;

/// Where the two sides ran. Never the process environment, which may hold secrets.
struct Environment {
  Facts client;
  Facts server;  ///< empty where both sides are one process, or the server did not tell
};

/// Reads procfs, sysfs and etc/os-release under `root` (a test gives another directory).
///
/// hostname, os, kernel, cpu_model, cpus_online, numa_nodes, smt_active, cpu_governor,
/// turbo_enabled, hypervisor, clocksource, transparent_huge_pages, memlock_limit_bytes ("unlimited"
/// or a number), and of this build rdmabench_version, compiler, build_type; last collected_utc.
/// What the machine does not tell is left out: this never fails. A caller appends what it knows
/// itself, such as the versions of libraries. It opens a few files per CPU: call it outside of
/// every measurement. Thread-safe. Source: proc(5), the kernel's
/// Documentation/ABI/testing/sysfs-devices-system-cpu.
Facts collect_environment(const std::string& root = "/");

}  // namespace rdmabench::report

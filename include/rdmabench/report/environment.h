// The facts of this machine and this build that explain a number.
#pragma once

#include <string>

#include "rdmabench/report/fact.h"

namespace rdmabench::report {

/// Reads procfs, sysfs and etc/os-release under `root` (a test gives a directory of its own).
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

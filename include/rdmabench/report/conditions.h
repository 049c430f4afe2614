// What a run used, where it ran, and what may have disturbed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rdmabench/base/status.h"

namespace rdmabench::inline v1::report {

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

/// By how much one hardware counter grew during a run. It counts what its device did for every
/// program. Its texts may come from a peer: every writer escapes them.
struct Counter {
  std::string device;  ///< "mlx5_0:1", "eth0", or "machine" for what the kernel keeps of all of it
  std::string name;    ///< the same for every vendor: "ack_timeouts"; see docs/counters.md
  std::string kind;    ///< "retransmission", "receiver_not_ready", "congestion", "discard", ...
  std::string source;  ///< the kernel's file: "hw_counters/local_ack_timeout_err"
  std::optional<std::uint64_t> change;  ///< none: it went backwards, so the change is unknown
  bool at_least = false;                ///< it stands at its upper end, and may have missed more
};

/// Of both sides of a run.
struct Counters {
  std::vector<Counter> client;
  std::vector<Counter> server;
};

/// Why a run's numbers may not be what they seem to be. A run with one is suspect.
struct Suspicion {
  std::string code;       ///< one word for programs: "retransmissions", "migration", ...
  std::string text;       ///< what was found, with its number, and what to do about it
  std::string side{};     ///< "client", "server" or "client, server"
  std::string summary{};  ///< the same for every suspicion of this code: what was found
  std::string remedy{};   ///< likewise: what to do about it
};

/// What came of one requirement of a run.
struct RequirementFinding {
  std::string required{};           ///< "device=mlx5_0"
  std::string subject{};            ///< a node, a device of it, or "rank 3 (n1)"; "": the whole run
  Status status = Status::open;     ///< open: it is not known, for example without NCCL's log
  std::string text{};               ///< what was found: "it sent 3 MB, where ..."
  std::optional<double> counted{};  ///< bytes
  double least = 0;                 ///< bytes, with which it passes
};

}  // namespace rdmabench::inline v1::report

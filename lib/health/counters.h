// What the devices count: readings before and after a run, and the difference.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "health/counter_names.h"
#include "rdmabench/report/conditions.h"

namespace rdmabench::health {

/// One counter as it stands.
struct Reading {
  std::string device;  ///< "mlx5_0:1", "mlx5_0", "eth0", "machine"
  std::string source;  ///< "hw_counters/NAME", "counters/NAME", "statistics/NAME", "snmp/Tcp NAME"
  const CounterFile* row = nullptr;  ///< null: the table does not know it
  std::uint64_t value = 0;           ///< in the file's own unit
};

/// All counters of some devices.
struct Snapshot {
  std::vector<Reading> readings;
  std::vector<std::string> notes;  ///< what could not be read, and why; whole sentences
};

/// Reads the counters of each device: "mlx5_0", "mlx5_0:1" (that port alone), "eth0", or a
/// libfabric domain such as "rdmap0s6-rdm". With an RDMA device comes the network device of its
/// ports, and with a network device the machine's TCP and UDP counters. What cannot be read is
/// noted: this never fails. `root` holds sys and proc; a test gives another directory.
///
/// The kernel answers from a cache for lifespan() after the last reading: wait that long before.
/// Takes about 20 us a file. Thread-safe. Source:
/// Documentation/ABI/stable/sysfs-class-infiniband, .../testing/sysfs-class-net-statistics.
Snapshot read_counters(const std::vector<std::string>& devices, const std::string& root = "/");

/// How long the kernel may answer from its cache: the longest hw_counters/lifespan of the devices;
/// 0 for devices without, whose counters are read afresh.
std::chrono::milliseconds lifespan(const std::vector<std::string>& devices,
                                   const std::string& root = "/");

/// By how much one counter grew, in the unit of its neutral name.
///
/// One that stands at its upper end grew by at least that much. One that went backwards either
/// wrapped, where the way forward is the shorter one, or was reset: then nothing is known.
report::Counter difference(const Reading& before, const Reading& after);

/// What changed between two snapshots, and which of those counters that betray a disturbed run were
/// watched and did not. A counter that is in one snapshot only is left out; so is a level.
std::vector<report::Counter> difference(const Snapshot& before, const Snapshot& after);

}  // namespace rdmabench::health

// What the devices count: readings before and after a run, and the difference.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "health/counter_names.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::health {

struct Reading {
  std::string device;  ///< "mlx5_0:1", "mlx5_0", "eth0", "machine"
  std::string source;  ///< "hw_counters/NAME", "counters/NAME", "statistics/NAME", "snmp/Tcp NAME"
  const CounterFile* row = nullptr;  ///< null: not in the table
  std::uint64_t value = 0;           ///< in the unit of the file
};

/// All counters of the given devices.
struct Snapshot {
  std::vector<Reading> readings;
  std::vector<std::string> notes;  ///< what could not be read, and why; full sentences
};

/// Reads the counters of each device: "mlx5_0", "mlx5_0:1" (only that port), "eth0", or a libfabric
/// domain such as "rdmap0s6-rdm". An RDMA device includes the network device of its ports, and a
/// network device the machine's TCP and UDP counters. Never fails: what cannot be read is noted.
/// `root` contains sys and proc; tests give another directory.
///
/// The kernel may answer from a cache for lifespan() after a reading: wait that long before. Takes
/// about 20 us a file. Thread-safe. Source: Documentation/ABI/stable/sysfs-class-infiniband,
/// .../testing/sysfs-class-net-statistics.
Snapshot read_counters(const std::vector<std::string>& devices, const std::string& root = "/");

/// All that read_counters() may be given: the RDMA devices, the network devices. In the order of
/// their names.
std::vector<std::string> rdma_devices(const std::string& root = "/");
std::vector<std::string> network_devices(const std::string& root = "/");

/// The device in whose name counters are reported, without a port: "mlx5_0" for "mlx5_0:1",
/// "rdmap0s6" for "rdmap0s6-rdm". Another text stays as it is.
std::string counted_as(const std::string& device, const std::string& root = "/");

/// The network device of an Ethernet port of an RDMA device, or of its first port: "eth0" for
/// "mlx5_0:1". A network device is its own; "" for another text, and for InfiniBand.
std::string network_device_of(const std::string& device, const std::string& root = "/");

/// How long the kernel may answer from its cache: the longest hw_counters/lifespan of the devices;
/// 0 if they have none.
std::chrono::milliseconds lifespan(const std::vector<std::string>& devices,
                                   const std::string& root = "/");

/// By how much one counter grew, in the unit of its neutral name.
///
/// A counter that stopped at its end grew by at least that much. One that went backwards either
/// wrapped, if that is the shorter way, or was reset: then its growth is unknown.
report::Counter difference(const Reading& before, const Reading& after);

/// The counters that changed between two snapshots, and those that would show a disturbed run but
/// did not change. Counters in only one snapshot and levels are left out.
std::vector<report::Counter> difference(const Snapshot& before, const Snapshot& after);

/// The counters of bytes sent and received, also those that did not change.
std::vector<report::Counter> byte_counters(const Snapshot& before, const Snapshot& after);

}  // namespace rdmabench::inline v1::health

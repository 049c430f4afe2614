// health: what may be wrong with a run or a node: hardware counters, where threads ran, the noise
// of the machine, and the suspicions derived from them.
//
// It only reads procfs and sysfs. Never call it during an epoch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rdmabench::inline v1::health {

enum class CounterClass : std::uint8_t {
  traffic,             ///< what was carried
  retransmission,      ///< packets that were lost or out of order were sent again
  receiver_not_ready,  ///< a message found no receive buffer
  congestion,          ///< the network signalled congestion
  discard,             ///< packets dropped on this node
  error,               ///< packets or requests that went wrong
  other,               ///< an explanation, no fault by itself
  gauge,               ///< a level and not a counter: its change means nothing
};

/// "retransmission", "receiver_not_ready", ...
std::string_view name(CounterClass kind) noexcept;

/// Whether a counter of that class is reported: of each but gauge.
bool is_reported_class(std::string_view name) noexcept;

struct NeutralName {
  std::string_view name;  ///< ends in its unit unless it counts events: "sent_bytes"
  CounterClass kind;
  std::string_view meaning;
};

/// The width of a counter, and whether it wraps or stops at its end.
enum class CounterEnd : std::uint8_t {
  wraps64,
  wraps32,
  sticks32,  ///< stops at all ones. Source: InfiniBand specification 1.3, 16.1.3.5
  sticks16,
  sticks8,
  sticks4,
};

/// One counter file (or field) of the kernel, by driver.
struct CounterFile {
  /// "mlx5", ...; "ib" for ports/N/counters of any driver, "net" for /sys/class/net/IF/statistics,
  /// "snmp" and "netstat" for those of /proc/net.
  std::string_view driver;
  std::string_view file;
  std::string_view neutral;
  CounterEnd end = CounterEnd::wraps64;
  std::uint64_t unit = 1;  ///< units of the neutral name in one step of the file
};

std::span<const NeutralName> neutral_names();
std::span<const CounterFile> counter_files();

/// Null if the table has no such name.
const NeutralName* find_neutral(std::string_view name) noexcept;

/// The row for a file of that driver, else mlx5's row of that name, because other drivers adopt its
/// names, as newer bnxt_re did. Null if there is none.
const CounterFile* find_counter(std::string_view driver, std::string_view file) noexcept;

}  // namespace rdmabench::inline v1::health

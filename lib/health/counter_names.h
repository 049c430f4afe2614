// health: what may be wrong with a run or a node: counters of the hardware, where threads ran, the
// noise of the machine, and the doubts that follow.
//
// It reads procfs and sysfs, judges, and changes nothing. Never call it inside of an epoch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace rdmabench::health {

enum class CounterClass : std::uint8_t {
  traffic,             ///< what was carried
  retransmission,      ///< something was lost or out of order, and sent again
  receiver_not_ready,  ///< a message found no receive buffer
  congestion,          ///< the network asked for less
  discard,             ///< packets thrown away here
  error,               ///< packets or requests that went wrong
  other,               ///< helps to explain, says nothing bad by itself
  gauge,               ///< no counter but a level: a change of it means nothing
};

/// "retransmission", "receiver_not_ready", ...
std::string_view name(CounterClass kind) noexcept;

/// The class of that name; `found` is false for none. Never gauge: no change of one is reported.
struct ClassOf {
  bool found = false;
  CounterClass kind = CounterClass::other;
};
ClassOf counter_class(std::string_view text) noexcept;

/// A counter by the name that it has for every vendor.
struct NeutralName {
  std::string_view name;  ///< ends in its unit where it does not count events: "sent_bytes"
  CounterClass kind;
  std::string_view meaning;
};

/// How far a counter counts, and what it does there.
enum class CounterEnd : std::uint8_t {
  wraps64,
  wraps32,
  sticks32,  ///< stands still at all ones. Source: InfiniBand specification 1.3, 16.1.3.5
  sticks16,
  sticks8,
  sticks4,
};

/// One file (or field) of the kernel, by the driver that writes it.
struct CounterFile {
  /// "mlx5", ...; "ib" for ports/N/counters of any driver, "net" for /sys/class/net/IF/statistics,
  /// "snmp" and "netstat" for those of /proc/net.
  std::string_view driver;
  std::string_view file;
  std::string_view neutral;
  CounterEnd end = CounterEnd::wraps64;
  std::uint64_t unit = 1;  ///< what one step of the file is, in the neutral name's unit
};

std::span<const NeutralName> neutral_names();
std::span<const CounterFile> counter_files();

/// Null where the table has no such name.
const NeutralName* find_neutral(std::string_view name) noexcept;

/// The row for a file of that driver; for one without, mlx5's row, because other drivers take its
/// names over, as newer bnxt_re did. Null where there is none.
const CounterFile* find_counter(std::string_view driver, std::string_view file) noexcept;

}  // namespace rdmabench::health

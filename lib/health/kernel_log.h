// Lines of the kernel's log that tell of a fault of a NIC, a GPU, a switch or PCIe, and what they
// mean. Private to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "action.h"
#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {

/// Who writes a line.
enum class LogSource : std::uint8_t { mlx5, bnxt, efa, intel, gpu, nvswitch, pcie };

struct KnownLine {
  LogSource source;
  std::string_view text;  ///< is in the line; "" where a number of NVIDIA's is
  Status status;
  std::string_view meaning;
  std::string_view remedy;
  std::string_view action;  ///< of action.h: the nearest to what the remedy says first
};

inline bool holds(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

/// None for a line that tells of no known fault.
std::optional<KnownLine> known_line(std::string_view line);

/// Lines of a known fault, those of a FAIL first: of a saved node 64 KiB are read, and a flood of
/// corrected errors is longer.
class KnownLines {
 public:
  /// Ignores a line of no known fault.
  void add(std::string_view line);
  std::string text() const { return fails_ + warns_; }

 private:
  std::string fails_;
  std::string warns_;
};

/// The text of KnownLines of /dev/kmsg since it was cleared (dmesg --clear), without their headers;
/// with `error` why the log could not be read: an errno.
std::string known_lines_of_kernel(int& error);

}  // namespace rdmabench::inline v1::health

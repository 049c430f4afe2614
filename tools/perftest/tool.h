// perftest's eight tools by name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../flags/flag.h"
#include "rdmabench/transport/operation.h"

namespace rdmabench::inline v1::tools::perftest {

struct Tool {
  std::string_view name;               ///< "ib_write_lat"
  transport::OperationCode operation;  ///< without --atomic_type and --..._with_imm
  bool latency;                        ///< else bandwidth
};

/// All eight, in the order of the bits below.
std::span<const Tool> tools();

// Sets of tools: bit i is tools()[i].
inline constexpr ToolSet kSendBw = 1, kSendLat = 2, kWriteBw = 4, kWriteLat = 8, kReadBw = 16,
                         kReadLat = 32, kAtomicBw = 64, kAtomicLat = 128;
inline constexpr ToolSet kSend = kSendBw | kSendLat, kWrite = kWriteBw | kWriteLat,
                         kRead = kReadBw | kReadLat, kAtomic = kAtomicBw | kAtomicLat;
inline constexpr ToolSet kBw = kSendBw | kWriteBw | kReadBw | kAtomicBw,
                         kLat = kSendLat | kWriteLat | kReadLat | kAtomicLat, kAll = kBw | kLat;

/// The set of `tool` alone, which must be one of tools().
ToolSet set_of(const Tool& tool);

/// Runs a command line of that tool; `words` are those after its name. With a host it measures
/// against it, without one it serves one client. Prints, and returns the exit code: 0; 1 when the
/// run failed or missed a limit. Throws Error(usage) for a wrong command line, which main() prints.
int run(const Tool& tool, const std::vector<std::string>& words);

/// "all", "bw", "send", "read atomic", "write_bw read_bw".
std::string to_text(ToolSet set);

}  // namespace rdmabench::inline v1::tools::perftest

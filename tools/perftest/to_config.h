// From perftest's flags to what the library measures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flags.h"
#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::tools::perftest {

/// Fills in perftest's defaults: 2 bytes (latency), 64 KiB or 8 bytes (atomics), 1000 iterations
/// (ib_write_bw 5000) of each queue pair, a depth of 128 and a completion for 100 messages (for
/// each where messages are above 8 KiB). Throws Error(usage) for what cannot go together.
run::Config to_config(const Tool& tool, const Flags& flags);

/// The operation with --atomic_type and --..._with_imm.
transport::OperationCode operation(const Tool& tool, const Flags& flags);

/// "NAME:PORT", "NAME" or "".
std::string device(const Flags& flags);

/// In bytes, ascending.
std::vector<std::uint64_t> sizes(const Tool& tool, const Flags& flags);

/// Messages per queue pair and completion; none = the library's choice.
std::optional<std::uint32_t> signal_every(const Tool& tool, const Flags& flags);

}  // namespace rdmabench::inline v1::tools::perftest

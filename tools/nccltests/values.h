// The values of nccl-tests' flags, read strictly: what it takes for 0 or for a default is an error.
#pragma once

#include <cstdint>

#include "flag_table.h"

namespace rdmabench::tools::nccltests {

/// A whole number within bounds. Throws Error(usage) that names the flag.
std::uint64_t whole(const Given& given, std::uint64_t min, std::uint64_t max);

/// "8", "1.5K", "128M", "1G": bytes, by powers of 1024, with a fraction as nccl-tests allows one
/// where it comes to whole bytes. Throws Error(usage).
std::uint64_t bytes(const Given& given);

/// A whole number that is nccl-tests' default; any other is refused with `remedy`.
void only_default(const Given& given, std::uint64_t usual, std::string_view remedy);

}  // namespace rdmabench::tools::nccltests

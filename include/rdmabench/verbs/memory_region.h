// Registration of host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rdmabench/verbs/handles.h"

namespace rdmabench::verbs {

/// Who may touch a region. Each is the least that its use needs.
enum class Access : std::uint8_t {
  local,          ///< this side sends from it, and reads and receives land in it
  window,         ///< the peer also writes to it and reads from it
  atomic_window,  ///< and does atomics on it
};

/// Registers `bytes`, which must outlive the region. Throws Error(failed); where the limit on
/// locked memory is the likely cause it names that limit. Source: ibv_reg_mr(3), getrlimit(2).
MemoryRegion register_memory(ibv_pd& domain, std::span<std::byte> bytes, Access access);

}  // namespace rdmabench::verbs

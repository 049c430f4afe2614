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
  read_window,    ///< the peer also reads from it
  window,         ///< the peer also writes to it and reads from it
  atomic_window,  ///< and does atomics on it
};

/// The flags of ibv_reg_mr(3).
int access_flags(Access access) noexcept;

/// Registers `bytes`, which must outlive the region, with its pages pinned. Throws Error(failed)
/// with the likely causes; where the limit on locked memory is one it names that limit. Source:
/// ibv_reg_mr(3), getrlimit(2).
MemoryRegion register_memory(ibv_pd& domain, std::span<std::byte> bytes, Access access);

}  // namespace rdmabench::verbs

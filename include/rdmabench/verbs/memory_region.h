// Registration of host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rdmabench/verbs/handles.h"

namespace rdmabench::verbs {

/// Access rights of a region, each the minimum for its use.
enum class Access : std::uint8_t {
  local,          ///< local sends, receives, and results of reads
  read_window,    ///< and remote reads
  window,         ///< and remote writes and reads
  atomic_window,  ///< and remote atomics
};

/// The flags of ibv_reg_mr(3).
int access_flags(Access access) noexcept;

/// Registers `bytes`, which must outlive the region, with pinned pages. Throws Error(failed) with
/// likely causes, such as the limit on locked memory with its value. Source:
/// ibv_reg_mr(3), getrlimit(2).
MemoryRegion register_memory(ibv_pd& domain, std::span<std::byte> bytes, Access access);

}  // namespace rdmabench::verbs

// Registers memory with a device, by the first possible route.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/verbs/handles.h"

namespace rdmabench::inline v1::verbs {

/// Access rights of a region, each the minimum for its use.
enum class Access : std::uint8_t {
  local,        ///< local sends, receives, and results of reads
  read_window,  ///< and remote reads
  window,       ///< and remote writes and reads
};

/// The flags of ibv_reg_mr(3).
int access_flags(Access access) noexcept;

/// Registers `bytes`, which must outlive the region, with pinned pages. Throws Error(failed) with
/// likely causes, such as the limit on locked memory with its value. Source:
/// ibv_reg_mr(3), getrlimit(2).
MemoryRegion register_memory(ibv_pd& domain, std::span<std::byte> bytes, Access access);

/// Memory to register: bytes of this process, and the dma-buf that contains them, if any.
struct MemoryArea {
  std::span<std::byte> bytes;
  int dma_buf = -1;                  ///< its descriptor, -1 for none; owned by the caller
  std::uint64_t dma_buf_offset = 0;  ///< of the first byte in the dma-buf
};

enum class Route : std::uint8_t {
  on_demand,    ///< ibv_reg_mr() with IBV_ACCESS_ON_DEMAND: the device pages on demand
  dma_buf,      ///< ibv_reg_dmabuf_mr()
  pinned,       ///< ibv_reg_mr(): the kernel pins the pages
  data_direct,  ///< mlx5dv_reg_dmabuf_mr(): the NIC's own PCIe path to GPU memory
  peer_memory,  ///< ibv_reg_mr() of a GPU address, by nvidia_peermem
  staged,       ///< ibv_reg_mr() of host memory that stages GPU memory
};

/// "on-demand", "dma-buf", "pinned", "data-direct", "nvidia_peermem", "staged".
std::string_view name(Route route) noexcept;

/// "dma-buf, mapping pcie"; "staged", which has no mapping.
std::string route_text(Route route, std::string_view mapping);

struct RegistrationRequest {
  Access access = Access::local;
  int more_access = 0;  ///< ibv_access_flags besides, such as IBV_ACCESS_REMOTE_ATOMIC
  /// The device may reorder its writes; none: as is usual for the memory, and here not.
  std::optional<bool> relaxed_ordering{};
  bool on_demand = false;        ///< required
  bool require_dma_buf = false;  ///< required
  /// Root of /sys, for information about kernel modules; tests pass another folder.
  std::string machine_root = "/";
};

/// A route that was not taken, and why.
struct RegistrationAttempt {
  Route route;
  std::string reason;        ///< one line; with device and errno if a call failed
  std::string mapping = {};  ///< of a dma-buf of GPU memory: "default", "pcie"
};

struct Registration {
  MemoryRegion region;
  Route route = Route::pinned;
  std::string mapping = {};                 ///< of a dma-buf of GPU memory: "default", "pcie"
  std::vector<RegistrationAttempt> others;  ///< all other routes, in the order of attempts
  std::vector<std::string> notes;           ///< on relaxed ordering and on-demand paging
};

/// Registers `area`, which must outlive the region, by the first of these routes that works: only
/// on-demand paging if it is requested; else the dma-buf if there is one; else pinned pages. Remote
/// addresses are always those of the bytes in this process. Do not use the region's `addr`
/// (ibv_reg_dmabuf_mr() keeps the offset there).
///
/// Throws Error(usage) if both on-demand paging and dma-buf are required, Error(unavailable) if the
/// device does not support the required one, Error(failed) with likely causes if the last call
/// failed. Source: ibv_reg_mr(3), ibv_query_device_ex(3).
Registration register_memory(ibv_pd& domain, const MemoryArea& area,
                             const RegistrationRequest& request);

/// Registers by one given route with one call and no query, so that the call can be timed. Throws
/// Error(failed).
MemoryRegion register_by(Route route, ibv_pd& domain, const MemoryArea& area,
                         const RegistrationRequest& request);

// Why a route cannot be used for GPU memory, found without a registration: one line, or "".

/// Tries to register descriptor -1: a driver with support for dma-buf returns EBADF, another one
/// EOPNOTSUPP or EPROTONOSUPPORT. Source: ibv_reg_dmabuf_mr(3).
std::string dma_buf_obstacle(ibv_pd& domain);

/// Checks that libmlx5 has mlx5dv_reg_dmabuf_mr() and that the device has a data-direct function.
/// Source: mlx5dv_reg_dmabuf_mr(3), mlx5dv_get_data_direct_sysfs_path(3).
std::string data_direct_obstacle(ibv_context& context);

/// Checks for the kernel module by which ibv_reg_mr() accepts GPU addresses. `root` is the root of
/// /sys; tests pass another folder. Source: sysfs, module/nvidia_peermem and
/// kernel/mm/memory_peers.
std::string peer_memory_obstacle(const std::string& root = "/");

/// Deregisters like the destructor, and checks the result. Throws Error(failed). Source:
/// ibv_dereg_mr(3).
void deregister(MemoryRegion region);

/// What a device pages on demand over each transport: bits of ibv_odp_transport_cap_bits.
struct OnDemand {
  bool any = false;  ///< IBV_ODP_SUPPORT
  std::uint32_t rc = 0;
  std::uint32_t uc = 0;
  std::uint32_t ud = 0;
  std::uint32_t xrc = 0;
  std::uint32_t dc = 0;  ///< of mlx5 devices
};

/// Throws Error(failed). Source: ibv_query_device_ex(3), mlx5dv_query_device(3).
OnDemand query_on_demand(ibv_context& context);

/// "RC: send receive write read; UD: send"; "no operation"; "" where there is no on-demand paging.
std::string to_text(const OnDemand& has);

/// "send receive": the operations that bits stand for.
std::string on_demand_operations(std::uint32_t bits);

}  // namespace rdmabench::inline v1::verbs

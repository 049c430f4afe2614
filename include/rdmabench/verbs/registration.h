// The ways to make memory known to a device, tried in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/verbs/memory_region.h"

namespace rdmabench::verbs {

/// What is to be registered: bytes of this process, and the dma-buf that holds them, if any.
struct MemoryArea {
  std::span<std::byte> bytes;
  int dma_buf = -1;                  ///< its descriptor, -1 for none; stays the caller's
  std::uint64_t dma_buf_offset = 0;  ///< of the first byte
};

enum class Route : std::uint8_t {
  on_demand,    ///< ibv_reg_mr() with IBV_ACCESS_ON_DEMAND: the device faults pages in
  dma_buf,      ///< ibv_reg_dmabuf_mr(): the device's driver asks the dma-buf's for its pages
  pinned,       ///< ibv_reg_mr(): the kernel pins the process's pages
  data_direct,  ///< mlx5dv_reg_dmabuf_mr() for the device's own PCIe path to a GPU's dma-buf
  peer_memory,  ///< ibv_reg_mr() of a GPU's address, which nvidia_peermem answers
  staged,       ///< ibv_reg_mr() of host memory in place of a GPU's: the wire never sees the GPU
};

/// "on-demand", "dma-buf", "pinned", "data-direct", "nvidia_peermem", "staged".
std::string_view name(Route route) noexcept;

struct RegistrationRequest {
  Access access = Access::local;
  bool relaxed_ordering = false;  ///< the device's writes may pass each other
  bool on_demand = false;         ///< nothing else will do
  bool require_dma_buf = false;   ///< likewise
  /// Where the machine's files are that tell of kernel modules; a test gives a folder of its own.
  std::string machine_root = "/";
};

/// A route that was not taken.
struct RegistrationAttempt {
  Route route;
  std::string reason;        ///< one line; names the device and the errno where a call said no
  std::string mapping = {};  ///< of a GPU's dma-buf: "default", "pcie"
};

struct Registration {
  MemoryRegion region;
  Route route = Route::pinned;
  std::string mapping = {};  ///< of a GPU's dma-buf: "default", "pcie"
  std::vector<RegistrationAttempt>
      others;                      ///< every other route, in the order in which they are tried
  std::vector<std::string> notes;  ///< what is known of relaxed ordering, of on-demand paging
};

/// Registers `area`, which must outlive the region, by the first of these that works: on-demand
/// paging where it is asked for, which then is the only one; its dma-buf where it has one; pinned
/// pages. Remote addresses are those of the bytes in this process, whatever the route; the region's
/// `addr` is not (ibv_reg_dmabuf_mr() keeps the offset there).
///
/// Throws Error(usage) for two routes demanded at once, Error(unavailable) when the device lacks
/// the one demanded, Error(failed) when the last call failed; with the causes that are likely then.
/// Source: ibv_reg_mr(3), ibv_query_device_ex(3).
Registration register_memory(ibv_pd& domain, const MemoryArea& area,
                             const RegistrationRequest& request);

/// The same by one route alone, for a caller who knows that it works: one call and no query. The
/// time it takes is the call's. Throws Error(failed).
MemoryRegion register_by(Route route, ibv_pd& domain, const MemoryArea& area,
                         const RegistrationRequest& request);

// What stands against a route for a GPU's memory, before anything is registered: one line, or "".

/// Asks for the registration of no dma-buf at all (descriptor -1): a driver that has the call says
/// EBADF, one without EOPNOTSUPP or EPROTONOSUPPORT. Source: ibv_reg_dmabuf_mr(3).
std::string dma_buf_obstacle(ibv_pd& domain);

/// Looks for mlx5dv_reg_dmabuf_mr() in the libmlx5 of this process, and asks that for the device's
/// data-direct function. Source: mlx5dv_reg_dmabuf_mr(3), mlx5dv_get_data_direct_sysfs_path(3).
std::string data_direct_obstacle(ibv_context& context);

/// Looks for the kernel module that lets ibv_reg_mr() take a GPU's address. `root` is where the
/// machine's files are; a test gives a folder of its own. Source: sysfs, module/nvidia_peermem and
/// kernel/mm/memory_peers.
std::string peer_memory_obstacle(const std::string& root = "/");

/// What the destructor does, with its result looked at. Throws Error(failed). Source:
/// ibv_dereg_mr(3).
void deregister(MemoryRegion region);

/// What a device can page on demand: "RC: send receive write read; UD: send"; "" if nothing.
/// Source: ibv_query_device_ex(3). Throws Error(failed).
std::string on_demand_text(ibv_context& context);

}  // namespace rdmabench::verbs

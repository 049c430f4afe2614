#include "transport/verbs/registration_order.h"

#include <fmt/format.h>

#include "memory/gpu_memory.h"
#include "rdmabench/base/error.h"

namespace rdmabench::transport::verbs {
namespace {

namespace mechanism = rdmabench::verbs;
using mechanism::Route;
using memory::GpuMapping;

mechanism::MemoryArea area_of(const memory::Buffer& memory) {
  return {.bytes = memory.bytes(),
          .dma_buf = memory.dma_buf(),
          .dma_buf_offset = memory.dma_buf_offset()};
}

void refuse_if(const std::string& obstacle) {
  if (!obstacle.empty()) throw Error(Fault::unavailable, obstacle);
}

/// Why a way is not tried, or "".
std::string skipped(const GpuRoute& way, const memory::Request& where,
                    const mechanism::RegistrationRequest& how) {
  const GpuMapping wanted = where.gpu_mapping;
  if (wanted != GpuMapping::automatic && (!by_dma_buf(way) || way.mapping != wanted)) {
    return fmt::format("the mapping {} was requested", name(wanted));
  }
  if (how.require_dma_buf && !by_dma_buf(way)) return "a dma-buf was requested";
  if (way.route == Route::staged) {  // always possible
    return where.existing == nullptr ? "" : "memory of the caller is not copied";
  }
  for (const memory::FailedRoute& failed : where.failed_routes) {
    if (failed.route == to_text(way)) {
      return fmt::format("registered, but the verifying transfer failed: {}", failed.reason);
    }
  }
  return "";
}

mechanism::Registration register_in_order(ibv_pd& domain, memory::Buffer& memory,
                                          const memory::Request& where,
                                          const mechanism::RegistrationRequest& how) {
  if (how.on_demand) {
    throw Error(Fault::usage, "on-demand paging of GPU memory",
                "The GPU's driver pins its pages: leave out `on_demand`.");
  }
  mechanism::Registration result;
  std::string reasons;
  for (const GpuRoute& way : gpu_routes()) {
    std::string reason = skipped(way, where, how);
    if (reason.empty() && result.region != nullptr) {
      reason = fmt::format("not needed: {} works", name(result.route));
    }
    if (reason.empty()) {
      try {
        const mechanism::MemoryArea area = ready(domain, memory, way, how.machine_root);
        result.region = register_by(way.route, domain, area, how);
        result.route = way.route;
        result.mapping = mapping_text(way);
        continue;
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    reasons += fmt::format("{} {}: {}", reasons.empty() ? "" : ";", to_text(way), reason);
    result.others.push_back({way.route, std::move(reason), mapping_text(way)});
  }
  if (result.region != nullptr) return result;
  throw Error(Fault::unavailable,
              fmt::format("GPU memory cannot be registered with {} as requested:{}",
                          ibv_get_device_name(domain.context->device), reasons),
              "Set `gpu_mapping` to auto to use a way that works.");
}

}  // namespace

std::vector<GpuRoute> gpu_routes() {
  return {{Route::data_direct, GpuMapping::data_direct},
          {Route::dma_buf, GpuMapping::standard},
          {Route::dma_buf, GpuMapping::pcie},
          {Route::peer_memory, GpuMapping::automatic},
          {Route::staged, GpuMapping::automatic}};
}

bool by_dma_buf(const GpuRoute& way) noexcept {
  return way.route == Route::dma_buf || way.route == Route::data_direct;
}

std::string mapping_text(const GpuRoute& way) {
  if (!by_dma_buf(way)) return "";
  return std::string(name(way.route == Route::data_direct ? GpuMapping::pcie : way.mapping));
}

std::string to_text(const GpuRoute& way) {
  return route_text(way.route, mapping_text(way));
}

mechanism::MemoryArea ready(ibv_pd& domain, memory::Buffer& memory, const GpuRoute& way,
                            const std::string& machine_root) {
  switch (way.route) {
    case Route::data_direct:
      refuse_if(mechanism::data_direct_obstacle(*domain.context));
      memory.gpu()->export_dma_buf(GpuMapping::pcie);
      break;
    case Route::dma_buf:
      refuse_if(mechanism::dma_buf_obstacle(domain));
      memory.gpu()->export_dma_buf(way.mapping);
      break;
    case Route::peer_memory:
      refuse_if(mechanism::peer_memory_obstacle(machine_root));
      break;
    default:
      memory.stage_through_host();
  }
  return area_of(memory);
}

mechanism::Registration register_buffer(ibv_pd& domain, memory::Buffer& memory,
                                        const memory::Request& where,
                                        const mechanism::RegistrationRequest& how) {
  if (memory.gpu() != nullptr) return register_in_order(domain, memory, where, how);
  return mechanism::register_memory(domain, area_of(memory), how);
}

}  // namespace rdmabench::transport::verbs

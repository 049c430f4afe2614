#include "transport/verbs/registration_order.h"

#include <fmt/format.h>

#include "memory/gpu_memory.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

namespace ibv = rdmabench::verbs;
using ibv::Route;
using memory::GpuMapping;

ibv::MemoryArea area_of(const memory::Buffer& memory) {
  return {.bytes = memory.bytes(),
          .dma_buf = memory.dma_buf(),
          .dma_buf_offset = memory.dma_buf_offset()};
}

void refuse_if(const std::string& obstacle) {
  if (!obstacle.empty()) throw Error(Fault::unavailable, obstacle);
}

/// Why a route is not tried, or "".
std::string skipped(const GpuRoute& gpu_route, const memory::Request& where,
                    const ibv::RegistrationRequest& how) {
  const GpuMapping wanted = where.gpu_mapping;
  if (wanted != GpuMapping::automatic && (!by_dma_buf(gpu_route) || gpu_route.mapping != wanted)) {
    return fmt::format("the mapping {} was requested", name(wanted));
  }
  if (how.require_dma_buf && !by_dma_buf(gpu_route)) return "a dma-buf was requested";
  if (gpu_route.route == Route::staged) {  // always possible
    return where.existing == nullptr ? "" : "memory of the caller is not copied";
  }
  const auto failed = where.failed_routes.find(to_text(gpu_route));
  if (failed == where.failed_routes.end()) return "";
  return fmt::format("registered, but the verifying transfer failed: {}", failed->second);
}

ibv::Registration register_in_order(ibv_pd& domain, memory::Buffer& memory,
                                    const memory::Request& where,
                                    const ibv::RegistrationRequest& how) {
  if (how.on_demand) {
    throw Error(Fault::usage, "on-demand paging of GPU memory",
                "The GPU's driver pins its pages: leave out `on_demand`.");
  }
  ibv::Registration result;
  ibv::RegistrationRequest one = how;
  std::string reasons;
  for (const GpuRoute& gpu_route : gpu_routes()) {
    std::string reason = skipped(gpu_route, where, how);
    if (reason.empty() && result.region != nullptr) {
      reason = fmt::format("not needed: {} works", name(result.route));
    }
    if (reason.empty()) {
      try {
        const ibv::MemoryArea area = ready(domain, memory, gpu_route, how.machine_root);
        one.relaxed_ordering = how.relaxed_ordering.value_or(gpu_route.route != Route::staged);
        result.region = register_by(gpu_route.route, domain, area, one);
        result.route = gpu_route.route;
        result.mapping = mapping_text(gpu_route);
        continue;
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    reasons += fmt::format("{} {}: {}", reasons.empty() ? "" : ";", to_text(gpu_route), reason);
    result.others.push_back({gpu_route.route, std::move(reason), mapping_text(gpu_route)});
  }
  if (result.region != nullptr) return result;
  throw Error(Fault::unavailable,
              fmt::format("GPU memory cannot be registered with {} as requested:{}",
                          ibv_get_device_name(domain.context->device), reasons),
              "Set `gpu_mapping` to auto to use a route that works.");
}

}  // namespace

std::vector<GpuRoute> gpu_routes() {
  return {{Route::data_direct, GpuMapping::data_direct},
          {Route::dma_buf, GpuMapping::standard},
          {Route::dma_buf, GpuMapping::pcie},
          {Route::peer_memory, GpuMapping::automatic},
          {Route::staged, GpuMapping::automatic}};
}

bool by_dma_buf(const GpuRoute& gpu_route) noexcept {
  return gpu_route.route == Route::dma_buf || gpu_route.route == Route::data_direct;
}

std::string mapping_text(const GpuRoute& gpu_route) {
  if (!by_dma_buf(gpu_route)) return "";
  return std::string(
      name(gpu_route.route == Route::data_direct ? GpuMapping::pcie : gpu_route.mapping));
}

std::string to_text(const GpuRoute& gpu_route) {
  return route_text(gpu_route.route, mapping_text(gpu_route));
}

ibv::MemoryArea ready(ibv_pd& domain, memory::Buffer& memory, const GpuRoute& gpu_route,
                      const std::string& machine_root) {
  switch (gpu_route.route) {
    case Route::data_direct:
      refuse_if(ibv::data_direct_obstacle(*domain.context));
      memory.gpu()->export_dma_buf(GpuMapping::pcie);
      break;
    case Route::dma_buf:
      refuse_if(ibv::dma_buf_obstacle(domain));
      memory.gpu()->export_dma_buf(gpu_route.mapping);
      break;
    case Route::peer_memory:
      refuse_if(ibv::peer_memory_obstacle(machine_root));
      break;
    default:
      memory.stage_through_host();
  }
  return area_of(memory);
}

ibv::Registration register_buffer(ibv_pd& domain, memory::Buffer& memory,
                                  const memory::Request& where,
                                  const ibv::RegistrationRequest& how) {
  if (memory.gpu() != nullptr) return register_in_order(domain, memory, where, how);
  return ibv::register_memory(domain, area_of(memory), how);
}

}  // namespace rdmabench::inline v1::transport::verbs

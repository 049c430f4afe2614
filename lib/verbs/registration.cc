#include "rdmabench/verbs/registration.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <utility>

#include "gpu_routes.h"
#include "rdmabench/base/error.h"
#include "registration_error.h"

namespace rdmabench::verbs {
namespace {

using Capability = std::pair<unsigned, std::string_view>;
constexpr std::array<Capability, 6> kOnDemandOperations{{{IBV_ODP_SUPPORT_SEND, "send"},
                                                         {IBV_ODP_SUPPORT_RECV, "receive"},
                                                         {IBV_ODP_SUPPORT_WRITE, "write"},
                                                         {IBV_ODP_SUPPORT_READ, "read"},
                                                         {IBV_ODP_SUPPORT_ATOMIC, "atomic"},
                                                         {IBV_ODP_SUPPORT_SRQ_RECV, "srq"}}};

std::string_view device_name(const ibv_pd& domain) {
  return ibv_get_device_name(domain.context->device);
}

int flags_of(Route route, const RegistrationRequest& request) {
  return access_flags(request.access) | request.more_access |
         (route == Route::on_demand ? IBV_ACCESS_ON_DEMAND : 0) |
         (request.relaxed_ordering ? IBV_ACCESS_RELAXED_ORDERING : 0);
}

std::string_view call_of(Route route) {
  switch (route) {
    case Route::on_demand:
      return "ibv_reg_mr(on demand, ";
    case Route::dma_buf:
      return "ibv_reg_dmabuf_mr(";
    case Route::data_direct:
      return "mlx5dv_reg_dmabuf_mr(data direct, ";
    case Route::peer_memory:
      return "ibv_reg_mr(GPU address, ";
    case Route::staged:
    case Route::pinned:
      break;
  }
  return "ibv_reg_mr(";
}

/// Null with errno set when the device refuses.
MemoryRegion attempt(Route route, ibv_pd& domain, const MemoryArea& area, int flags) {
  if (route == Route::dma_buf) {
    return MemoryRegion(ibv_reg_dmabuf_mr(&domain, area.dma_buf_offset, area.bytes.size(),
                                          reinterpret_cast<std::uintptr_t>(area.bytes.data()),
                                          area.dma_buf, flags));
  }
  if (route == Route::data_direct) {
    return MemoryRegion(register_data_direct(domain, area, flags));
  }
  return MemoryRegion(ibv_reg_mr(&domain, area.bytes.data(), area.bytes.size(), flags));
}

/// The Error of a call that gave `code`.
Error refusal(Fault fault, Route route, ibv_pd& domain, const MemoryArea& area, int flags,
              int code) {
  return {fault,
          fmt::format("{}{} bytes) on {}", call_of(route), area.bytes.size(), device_name(domain)),
          registration_remedy(code, *domain.context, area.bytes.size(), flags), code};
}

void check(const MemoryArea& area, const RegistrationRequest& request, ibv_pd& domain) {
  if (request.on_demand && request.require_dma_buf) {
    throw Error(Fault::usage, "on-demand paging and dma-buf together",
                "The driver of a dma-buf manages its pages: leave out one of them.");
  }
  if (request.require_dma_buf && area.dma_buf < 0) {
    throw Error(Fault::usage, "the memory has no dma-buf to register", "Set `memory` to dmabuf.");
  }
  if (request.on_demand && on_demand_text(*domain.context).empty()) {
    throw Error(Fault::unavailable,
                fmt::format("the device {} does not support on-demand paging", device_name(domain)),
                "Leave out `on_demand`. (ibv_query_device_ex() reports no IBV_ODP_SUPPORT.)");
  }
}

/// Why a route is not tried, or "".
std::string skipped(Route route, const MemoryArea& area, const RegistrationRequest& request) {
  if (request.on_demand) return route == Route::on_demand ? "" : "on-demand paging was requested";
  if (route == Route::on_demand) return "not requested";
  if (route == Route::dma_buf && area.dma_buf < 0) return "the memory has no dma-buf";
  return "";
}

void add_notes(Registration& result, const RegistrationRequest& request, ibv_pd& domain) {
  if (request.relaxed_ordering) {
    result.notes.emplace_back(
        "relaxed ordering was requested; no call reports whether it is active: libibverbs drops the "
        "flag if the kernel has no optional access flags, and a device or PCIe path may ignore it");
  }
  if (result.route == Route::on_demand) {
    result.notes.push_back(fmt::format("{} pages on demand for {}", device_name(domain),
                                       on_demand_text(*domain.context)));
  }
}

}  // namespace

int access_flags(Access access) noexcept {
  switch (access) {
    case Access::local:
      return IBV_ACCESS_LOCAL_WRITE;
    case Access::read_window:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    case Access::window:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  }
  return 0;
}

MemoryRegion register_memory(ibv_pd& domain, std::span<std::byte> bytes, Access access) {
  return register_by(Route::pinned, domain, {.bytes = bytes}, {.access = access});
}

std::string_view name(Route route) noexcept {
  constexpr std::array<std::string_view, 6> kWords{"on-demand",   "dma-buf",        "pinned",
                                                   "data-direct", "nvidia_peermem", "staged"};
  return kWords[static_cast<std::size_t>(route)];
}

Registration register_memory(ibv_pd& domain, const MemoryArea& area,
                             const RegistrationRequest& request) {
  check(area, request, domain);
  Registration result;
  for (const Route route : {Route::on_demand, Route::dma_buf, Route::pinned}) {
    std::string reason = skipped(route, area, request);
    if (reason.empty() && result.region != nullptr) {
      reason = fmt::format("not needed: {} works", name(result.route));
    }
    if (!reason.empty()) {
      result.others.push_back({route, std::move(reason)});
      continue;
    }
    const int flags = flags_of(route, request);
    result.region = attempt(route, domain, area, flags);
    if (result.region != nullptr) {
      result.route = route;
      continue;
    }
    const int code = errno;
    const bool last = route != Route::dma_buf || request.require_dma_buf;
    const bool lacking = code == EOPNOTSUPP || code == EPROTONOSUPPORT;
    const Error error =
        refusal(lacking ? Fault::unavailable : Fault::failed, route, domain, area, flags, code);
    if (last) throw Error(error);
    result.others.push_back({route, error.what()});
  }
  add_notes(result, request, domain);
  return result;
}

MemoryRegion register_by(Route route, ibv_pd& domain, const MemoryArea& area,
                         const RegistrationRequest& request) {
  const int flags = flags_of(route, request);
  MemoryRegion region = attempt(route, domain, area, flags);
  if (region == nullptr) {
    const int code = errno;
    throw refusal(Fault::failed, route, domain, area, flags, code);
  }
  return region;
}

void deregister(MemoryRegion region) {
  if (region == nullptr) return;
  const std::string device = ibv_get_device_name(region->context->device);
  if (const int code = ibv_dereg_mr(region.get()); code != 0) {
    throw Error(Fault::failed, fmt::format("ibv_dereg_mr() on {}", device),
                "A memory window may still be bound to the region.", code);
  }
  static_cast<void>(region.release());
}

std::string on_demand_text(ibv_context& context) {
  ibv_device_attr_ex attributes{};
  if (const int code = ibv_query_device_ex(&context, nullptr, &attributes); code != 0) {
    throw Error(Fault::failed,
                fmt::format("ibv_query_device_ex({})", ibv_get_device_name(context.device)), "",
                code < 0 ? -code : code);
  }
  const ibv_odp_caps& caps = attributes.odp_caps;
  if ((caps.general_caps & IBV_ODP_SUPPORT) == 0) return "";
  std::string text;
  const auto add = [&](std::string_view transport, unsigned bits) {
    if (bits == 0) return;
    text += fmt::format("{}{}:", text.empty() ? "" : "; ", transport);
    for (const auto& [bit, operation] : kOnDemandOperations) {
      if ((bits & bit) != 0) text += fmt::format(" {}", operation);
    }
  };
  add("RC", caps.per_transport_caps.rc_odp_caps);
  add("UC", caps.per_transport_caps.uc_odp_caps);
  add("UD", caps.per_transport_caps.ud_odp_caps);
  add("XRC", attributes.xrc_odp_caps);
  return text.empty() ? "no operation" : text;
}

}  // namespace rdmabench::verbs

#include "rdmabench/verbs/handles.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "loaded/library.h"
#include "rdmabench/base/error.h"
#include "verbs/dynamic.h"

namespace rdmabench::inline v1::verbs {
namespace {

using Capability = std::pair<unsigned, std::string_view>;
// The headers of rdma-core 44 do not name the last two.
constexpr std::array<Capability, 8> kOnDemandOperations{{{IBV_ODP_SUPPORT_SEND, "send"},
                                                         {IBV_ODP_SUPPORT_RECV, "receive"},
                                                         {IBV_ODP_SUPPORT_WRITE, "write"},
                                                         {IBV_ODP_SUPPORT_READ, "read"},
                                                         {IBV_ODP_SUPPORT_ATOMIC, "atomic"},
                                                         {IBV_ODP_SUPPORT_SRQ_RECV, "srq"},
                                                         {1U << 6U, "flush"},
                                                         {1U << 7U, "atomic-write"}}};

std::string_view device_name(const ibv_pd& domain) {
  return ibv_get_device_name(domain.context->device);
}

int flags_of(Route route, const RegistrationRequest& request) {
  return access_flags(request.access) | request.more_access |
         (route == Route::on_demand ? IBV_ACCESS_ON_DEMAND : 0) |
         (request.relaxed_ordering.value_or(false) ? IBV_ACCESS_RELAXED_ORDERING : 0);
}

std::string_view call_of(Route route) {
  constexpr std::array<std::string_view, 6> kCalls{"ibv_reg_mr(on demand, ",
                                                   "ibv_reg_dmabuf_mr(",
                                                   "ibv_reg_mr(",
                                                   "mlx5dv_reg_dmabuf_mr(data direct, ",
                                                   "ibv_reg_mr(GPU address, ",
                                                   "ibv_reg_mr("};
  return kCalls[static_cast<std::size_t>(route)];
}

constexpr std::uint64_t kKibi = 1024;

std::string locked_memory_remedy(std::uint64_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) {
    return "The limit on locked memory is unlimited ('ulimit -l'): lower `sizes` or `depth`, "
           "or free memory of the machine or of the device's address translation.";
  }
  return fmt::format(
      "Locked memory is limited to {} KiB and this region has {} KiB, besides memory that is locked "
      "already: raise the limit with 'ulimit -l unlimited' (or memlock in /etc/security/limits.conf, "
      "LimitMEMLOCK= in a systemd unit).",
      limit.rlim_cur / kKibi, (bytes + kKibi - 1) / kKibi);
}

std::string invalid_remedy(ibv_context& context, std::uint64_t bytes, int access) {
  ibv_device_attr device{};
  if (ibv_query_device(&context, &device) == 0 && device.max_mr_size != 0 &&
      bytes > device.max_mr_size) {
    return fmt::format("The device registers at most {} bytes: lower `sizes` or `depth`.",
                       device.max_mr_size);
  }
  std::string flags;
  if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0) flags = "remote atomics";
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) {
    flags += fmt::format("{}on-demand paging", flags.empty() ? "" : " or ");
  }
  return flags.empty() ? "" : fmt::format("The device may not support {}.", flags);
}

/// What to try after registering `bytes` gave `code`: the likely causes. Source: ibv_reg_mr(3),
/// getrlimit(2), and the kernel's ib_umem_get() and pin_user_pages().
std::string registration_remedy(int code, ibv_context& context, std::uint64_t bytes, int access) {
  switch (code) {
    case ENOMEM:
    case EAGAIN:
    case EPERM:
      return locked_memory_remedy(bytes);
    case EFAULT:
      return "Its pages cannot be pinned. Memory of a device needs a dma-buf or a peer-memory module. From "
             "Linux 6.5 on, a mapped file must be on tmpfs or hugetlbfs.";
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
      return "The device's driver does not support it.";
    case EINVAL:
      return invalid_remedy(context, bytes, access);
    case EBADF:
      return "The descriptor is closed or is not a dma-buf.";
    case ENOSPC:
      return "The device's memory regions are exhausted; 'rdma resource show mr' lists their processes.";
    default:
      return "";
  }
}

// Functions that many releases' headers lack: looked up in the loaded library.
using RegisterDataDirect = ibv_mr* (*)(ibv_pd*, std::uint64_t offset, std::size_t length,
                                       std::uint64_t iova, int descriptor, int access,
                                       int mlx5_access);
using FindDataDirect = int (*)(ibv_context*, char* path, std::size_t bytes);
constexpr int kDataDirectAccess = 1;  // MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT
constexpr const char* kRegister = "mlx5dv_reg_dmabuf_mr";
constexpr const char* kFind = "mlx5dv_get_data_direct_sysfs_path";

/// A program that links libmlx5 itself, or a fake, goes before.
template <class Function>
Function find(const char* name) {
  void* const linked = dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<Function>(linked != nullptr ? linked : loaded::mlx5.find(name));
}

/// Null with errno set when the library has no such call or the device refuses. The region begins
/// at the page that the area begins in, as the call demands. Source: mlx5dv_reg_dmabuf_mr(3).
ibv_mr* register_data_direct(ibv_pd& domain, const MemoryArea& area, int flags) {
  const auto call = find<RegisterDataDirect>(kRegister);
  if (call == nullptr) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(area.bytes.data());
  const std::uint64_t before = address % page;
  return call(&domain, area.dma_buf_offset - before, area.bytes.size() + before, address - before,
              area.dma_buf, flags, kDataDirectAccess);
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
  if (request.on_demand && !query_on_demand(*domain.context).any) {
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
  if (request.relaxed_ordering.value_or(false)) {
    result.notes.emplace_back(
        "relaxed ordering was requested; no call reports whether it is active: libibverbs drops the "
        "flag if the kernel has no optional access flags, and a device or PCIe path may ignore it");
  }
  if (result.route == Route::on_demand) {
    result.notes.push_back(fmt::format("{} pages on demand for {}", device_name(domain),
                                       to_text(query_on_demand(*domain.context))));
  }
}

}  // namespace

int access_flags(Access access) noexcept {
  return IBV_ACCESS_LOCAL_WRITE | (access != Access::local ? IBV_ACCESS_REMOTE_READ : 0) |
         (access == Access::window ? IBV_ACCESS_REMOTE_WRITE : 0);
}

MemoryRegion register_memory(ibv_pd& domain, std::span<std::byte> bytes, Access access) {
  return register_by(Route::pinned, domain, {.bytes = bytes}, {.access = access});
}

std::string_view name(Route route) noexcept {
  constexpr std::array<std::string_view, 6> kWords{"on-demand",   "dma-buf",        "pinned",
                                                   "data-direct", "nvidia_peermem", "staged"};
  return kWords[static_cast<std::size_t>(route)];
}

std::string route_text(Route route, std::string_view mapping) {
  return fmt::format("{}{}{}", name(route), mapping.empty() ? "" : ", mapping ", mapping);
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

OnDemand query_on_demand(ibv_context& context) {
  ibv_device_attr_ex attributes{};
  if (const int code = ibv_query_device_ex(&context, nullptr, &attributes); code != 0) {
    throw Error(Fault::failed,
                fmt::format("ibv_query_device_ex({})", ibv_get_device_name(context.device)), "",
                code < 0 ? -code : code);
  }
  const ibv_odp_caps& caps = attributes.odp_caps;
  const bool any = (caps.general_caps & IBV_ODP_SUPPORT) != 0;
  return {.any = any,
          .rc = caps.per_transport_caps.rc_odp_caps,
          .uc = caps.per_transport_caps.uc_odp_caps,
          .ud = caps.per_transport_caps.ud_odp_caps,
          .xrc = attributes.xrc_odp_caps,
          .dc = any ? dynamic_on_demand(context) : 0};
}

std::string on_demand_operations(std::uint32_t bits) {
  std::string text;
  for (const auto& [bit, operation] : kOnDemandOperations) {
    if ((bits & bit) != 0) text += fmt::format("{}{}", text.empty() ? "" : " ", operation);
  }
  return text;
}

std::string to_text(const OnDemand& has) {
  if (!has.any) return "";
  std::string text;
  const auto add = [&](std::string_view transport, std::uint32_t bits) {
    if (bits == 0) return;
    text +=
        fmt::format("{}{}: {}", text.empty() ? "" : "; ", transport, on_demand_operations(bits));
  };
  add("RC", has.rc);
  add("UC", has.uc);
  add("UD", has.ud);
  add("XRC", has.xrc);
  add("DC", has.dc);
  return text.empty() ? "no operation" : text;
}

std::string dma_buf_obstacle(ibv_pd& domain) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  errno = 0;
  const MemoryRegion region(ibv_reg_dmabuf_mr(&domain, 0, page, 0, -1, IBV_ACCESS_LOCAL_WRITE));
  const int code = errno;
  if (region != nullptr || code == EBADF) return "";
  const Error error(Fault::unavailable,
                    fmt::format("ibv_reg_dmabuf_mr(no descriptor) on {}",
                                ibv_get_device_name(domain.context->device)),
                    code == EOPNOTSUPP || code == EPROTONOSUPPORT
                        ? "The device's driver or the kernel (before 5.12) does not support it."
                        : "A driver that supports dma-buf would return EBADF.",
                    code);
  return error.what();
}

std::string data_direct_obstacle(ibv_context& context) {
  const auto search = find<FindDataDirect>(kFind);
  if (search == nullptr || find<RegisterDataDirect>(kRegister) == nullptr) {
    return fmt::format("libmlx5 has no {}(): it needs rdma-core 54 or newer",
                       search == nullptr ? kFind : kRegister);
  }
  std::array<char, 256> path{};
  const int code = search(&context, path.data(), path.size());
  if (code == 0) return "";
  const Error error(Fault::unavailable,
                    fmt::format("{}({})", kFind, ibv_get_device_name(context.device)),
                    "The device has no data-direct function.", code < 0 ? -code : code);
  return error.what();
}

std::string peer_memory_obstacle(const std::string& root) {
  constexpr std::array kFiles{"sys/module/nvidia_peermem/version",
                              "sys/kernel/mm/memory_peers/nv_mem/version",
                              "sys/kernel/mm/memory_peers/nv_mem_nc/version"};
  for (const char* file : kFiles) {
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::path(root) / file, ignored)) return "";
  }
  return "the module nvidia_peermem is not loaded: none of /sys/module/nvidia_peermem/version, "
         "/sys/kernel/mm/memory_peers/{nv_mem,nv_mem_nc}/version exists";
}

}  // namespace rdmabench::inline v1::verbs

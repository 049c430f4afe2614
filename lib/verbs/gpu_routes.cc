#include "gpu_routes.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "loaded/library.h"
#include "rdmabench/base/error.h"

namespace rdmabench::verbs {
namespace {

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

}  // namespace

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

}  // namespace rdmabench::verbs

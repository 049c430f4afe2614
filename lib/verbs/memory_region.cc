#include "rdmabench/verbs/memory_region.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>

#include "rdmabench/base/error.h"

namespace rdmabench::verbs {
namespace {

/// What to try after ibv_reg_mr() gave `code`.
std::string remedy(int code) {
  if (code != ENOMEM && code != EAGAIN && code != EPERM) return "";
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) {
    return "Locked memory is not limited ('ulimit -l'), so lower --size or --depth, or free "
           "memory.";
  }
  return fmt::format(
      "Locked memory is limited to {} KiB: raise it with 'ulimit -l unlimited' (or memlock in "
      "/etc/security/limits.conf, LimitMEMLOCK= in a systemd unit).",
      limit.rlim_cur / 1024);
}

}  // namespace

MemoryRegion register_memory(ibv_pd& domain, std::span<std::byte> bytes, Access access) {
  int flags = IBV_ACCESS_LOCAL_WRITE;
  if (access != Access::local) flags |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  if (access == Access::atomic_window) flags |= IBV_ACCESS_REMOTE_ATOMIC;
  MemoryRegion region(ibv_reg_mr(&domain, bytes.data(), bytes.size(), flags));
  if (region == nullptr) {
    const int code = errno;
    throw Error(Fault::failed, fmt::format("ibv_reg_mr({} bytes)", bytes.size()), remedy(code),
                code);
  }
  return region;
}

}  // namespace rdmabench::verbs

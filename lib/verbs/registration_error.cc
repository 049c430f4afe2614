#include "registration_error.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>

namespace rdmabench::verbs {
namespace {

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

}  // namespace

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

}  // namespace rdmabench::verbs

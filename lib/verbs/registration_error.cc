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
    return "Locked memory is not limited ('ulimit -l'), so lower --size or --depth, or free "
           "memory: the machine's, or the device's own for address translation.";
  }
  return fmt::format(
      "Locked memory is limited to {} KiB, and these are {} KiB besides what is locked already: "
      "raise it with 'ulimit -l unlimited' (or memlock in /etc/security/limits.conf, "
      "LimitMEMLOCK= in a systemd unit).",
      limit.rlim_cur / kKibi, (bytes + kKibi - 1) / kKibi);
}

std::string invalid_remedy(ibv_context& context, std::uint64_t bytes, int access) {
  ibv_device_attr device{};
  if (ibv_query_device(&context, &device) == 0 && device.max_mr_size != 0 &&
      bytes > device.max_mr_size) {
    return fmt::format("The device registers {} bytes at most: lower --size or --depth.",
                       device.max_mr_size);
  }
  std::string flags;
  if ((access & IBV_ACCESS_REMOTE_ATOMIC) != 0) flags = "remote atomics";
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) {
    flags += fmt::format("{}on-demand paging", flags.empty() ? "" : " or ");
  }
  return flags.empty() ? "" : fmt::format("The device may not allow {} here.", flags);
}

}  // namespace

std::string registration_remedy(int code, ibv_context& context, std::uint64_t bytes, int access) {
  switch (code) {
    case ENOMEM:
    case EAGAIN:
    case EPERM:
      return locked_memory_remedy(bytes);
    case EFAULT:
      return "Pages of it cannot be pinned: of a device, whose driver would have to offer them to "
             "peers (a dma-buf, or a peer-memory module); or, from Linux 6.5 on, of a file that is "
             "neither on tmpfs nor on hugetlbfs.";
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
      return "The device's driver does not offer it: nothing to raise or to free.";
    case EINVAL:
      return invalid_remedy(context, bytes, access);
    case EBADF:
      return "The descriptor is closed, or is of no dma-buf.";
    case ENOSPC:
      return "The device has no memory region left: list who holds them with 'rdma resource show "
             "mr'.";
    default:
      return "";
  }
}

}  // namespace rdmabench::verbs

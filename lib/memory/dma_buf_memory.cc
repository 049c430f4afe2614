#include <fcntl.h>
#include <fmt/format.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "memory/mapping.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::memory {
namespace {

constexpr const char* kSizeLimit = "/sys/module/udmabuf/parameters/size_limit_mb";
constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;

[[noreturn]] void fail(const std::string& what, std::string_view remedy = {}) {
  throw Error(Fault::failed, what, remedy, errno);
}

std::string open_remedy(int code) {
  if (code == ENOENT || code == ENXIO || code == ENODEV) {
    return "The kernel needs CONFIG_UDMABUF (Debian: from 6.12 on): load it with 'modprobe udmabuf', "
           "or set `memory` to host.";
  }
  return "Run as root or as a member of the group that owns it.";
}

std::string create_remedy(int code, std::uint64_t bytes) {
  const std::uint64_t limit = read_number(kSizeLimit).value_or(0);
  if (code == EINVAL && limit != 0 && bytes > limit * kMebi) {
    return fmt::format("A dma-buf may have at most {} MiB: raise {}, or lower `sizes` or `depth`.",
                       limit, kSizeLimit);
  }
  return "";
}

}  // namespace

Mapping map_dma_buf(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t length = (bytes + page - 1) / page * page;
  Descriptor file(memfd_create("rdmabench", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  if (file.get() < 0) fail("memfd_create()");
  if (ftruncate(file.get(), static_cast<off_t>(length)) != 0) {
    fail(fmt::format("ftruncate(memfd, {} bytes)", length),
         "Lower `sizes` or `depth`, or free memory.");
  }
  // The driver requires this seal, because pages of a device must not be removed.
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) fail("fcntl(memfd, F_SEAL_SHRINK)");
  Mapping mapping(length, page, MAP_SHARED, file.get());
  if (!mapping) {
    fail(fmt::format("mmap({} bytes of a memfd)", length),
         "Lower `sizes` or `depth`, or free memory.");
  }
  mapping.memory_file = std::move(file);
  return mapping;
}

void export_dma_buf(Mapping& mapping, const char* device) {
  const Descriptor driver(open(device, O_RDWR | O_CLOEXEC));
  if (driver.get() < 0) {
    const int code = errno;
    throw Error(Fault::unavailable, fmt::format("open({})", device), open_remedy(code), code);
  }
  const std::uint64_t bytes = mapping.bytes().size();
  udmabuf_create create{};
  create.memfd = static_cast<std::uint32_t>(mapping.memory_file.get());
  create.flags = UDMABUF_FLAGS_CLOEXEC;
  create.size = bytes;
  const int made = ioctl(driver.get(), UDMABUF_CREATE, &create);
  if (made < 0) {
    const int code = errno;
    throw Error(Fault::failed, fmt::format("UDMABUF_CREATE({} bytes)", bytes),
                create_remedy(code, bytes), code);
  }
  mapping.dma_buf = Descriptor(made);
}

}  // namespace rdmabench::inline v1::memory

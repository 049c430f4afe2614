#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "memory/mapping.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::memory {
namespace {

constexpr mode_t kOwnerOnly = 0600;

/// An open file; one that was not there has no name, and goes with its last mapping.
Descriptor open_file(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) {
    file = Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
    if (file.get() >= 0) unlink(path.c_str());
  }
  if (file.get() < 0) {
    throw Error(Fault::failed, fmt::format("open('{}')", path),
                "Name a file or a device that this user may read and write.", errno);
  }
  return file;
}

/// hugetlbfs maps whole pages of its own size only. Source: statfs(2).
std::uint64_t page_size_of(int file) {
  struct statfs about {};
  if (fstatfs(file, &about) == 0 && about.f_type == HUGETLBFS_MAGIC) {
    return static_cast<std::uint64_t>(about.f_bsize);
  }
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Sees to it that no page of the mapping lies beyond the end of a regular file, or on a block that
/// the disk turns out not to have: touching one would be a SIGBUS.
void ensure_size(int file, const std::string& path, std::uint64_t end) {
  struct stat about {};
  if (fstat(file, &about) != 0)
    throw Error(Fault::failed, fmt::format("fstat('{}')", path), "", errno);
  if (!S_ISREG(about.st_mode)) return;  // a device tells at mmap(2)
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (size >= end) return;
  if (size != 0) {
    throw Error(
        Fault::usage, fmt::format("the file '{}' has {} bytes and {} are needed", path, size, end),
        "Name a larger file, or one that is not there: it is created, and gone at the end.");
  }
  if (const int code = posix_fallocate(file, 0, static_cast<off_t>(end)); code != 0) {
    throw Error(Fault::failed, fmt::format("posix_fallocate('{}', {} bytes)", path, end),
                "Free space on that file system, or lower --size or --depth.", code);
  }
}

}  // namespace

Mapping map_file(std::uint64_t bytes, const std::string& path, std::uint64_t offset) {
  const Descriptor file = open_file(path);
  const std::uint64_t page = page_size_of(file.get());
  if (offset % page != 0) {
    throw Error(Fault::usage, fmt::format("'{}' cannot be mapped at {}", path, offset),
                fmt::format("Take a multiple of its page size {}.", format_size(page)));
  }
  ensure_size(file.get(), path, offset + (bytes + page - 1) / page * page);
  Mapping mapping(bytes, page, MAP_SHARED, file.get(), offset);
  if (!mapping) {
    throw Error(Fault::failed, fmt::format("mmap({} bytes of '{}' at {})", bytes, path, offset),
                "It may be smaller than that, or cannot be mapped shared and writable.", errno);
  }
  return mapping;
}

}  // namespace rdmabench::memory

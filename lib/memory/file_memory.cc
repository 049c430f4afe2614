#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/new_file.h"
#include "base/refuse.h"
#include "memory/mapping.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::memory {
namespace {

constexpr mode_t kOwnerOnly = 0600;

/// Opens the file. A new file is unlinked at once, so that it ends with its last mapping.
Descriptor open_file(const std::string& path) {
  const Place place = find_place(path);
  Descriptor file;
  if (place.exists) {
    file = place.open(O_RDWR);
  } else {
    const int folder = place.folder.get();
    file = Descriptor(
        openat(folder, place.name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
    if (file.get() >= 0) unlinkat(folder, place.name.c_str(), 0);
  }
  if (file.get() < 0) {
    throw Error(Fault::failed, fmt::format("open('{}')", path),
                "Use a file or a device that this user may read and write.", errno);
  }
  return file;
}

/// hugetlbfs maps only whole pages of its page size. Source: statfs(2).
std::uint64_t page_size_of(int file) {
  struct statfs about {};
  if (fstatfs(file, &about) == 0 && about.f_type == HUGETLBFS_MAGIC) {
    return static_cast<std::uint64_t>(about.f_bsize);
  }
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Makes sure that all pages of the mapping are within a regular file and have their blocks
/// allocated. Touching another page would raise SIGBUS.
void ensure_size(int file, const std::string& path, std::uint64_t end) {
  struct stat about {};
  if (fstat(file, &about) != 0)
    throw Error(Fault::failed, fmt::format("fstat('{}')", path), "", errno);
  if (!S_ISREG(about.st_mode)) return;  // mmap(2) checks the size of a device
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (size >= end) return;
  refuse_if(size != 0,
            fmt::format("the file '{}' has {} bytes, but {} are needed", path, size, end),
            "Use a larger file, or one that does not exist: it is created and removed at the end.");
  if (const int code = posix_fallocate(file, 0, static_cast<off_t>(end)); code != 0) {
    throw Error(Fault::failed, fmt::format("posix_fallocate('{}', {} bytes)", path, end),
                "Free space on that file system, or lower `sizes` or `depth`.", code);
  }
}

}  // namespace

Mapping map_file(std::uint64_t bytes, const std::string& path, std::uint64_t offset) {
  const Descriptor file = open_file(path);
  const std::uint64_t page = page_size_of(file.get());
  refuse_if(offset % page != 0, fmt::format("invalid offset of '{}': {}", path, offset),
            fmt::format("It must be a multiple of the page size {}.", format_size(page)));
  ensure_size(file.get(), path, offset + (bytes + page - 1) / page * page);
  Mapping mapping(bytes, page, MAP_SHARED, file.get(), offset);
  if (!mapping) {
    throw Error(Fault::failed, fmt::format("mmap({} bytes of '{}' at {})", bytes, path, offset),
                "The file may be too small, or may not allow a shared writable mapping.", errno);
  }
  return mapping;
}

}  // namespace rdmabench::inline v1::memory

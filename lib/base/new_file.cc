#include "base/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <utility>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

constexpr const char* kWritable = "Name a file that can be written.";
constexpr int kMostLinks = 40;  // as the kernel follows

[[noreturn]] void fail_to_write(const std::string& path, int code) {
  throw Error(Fault::failed, fmt::format("write to '{}'", path), kWritable, code);
}

/// /dev/stdout and /dev/fd/63 end in links of procfs that lead to what is open, not to a name.
bool is_procfs(int folder) {
  struct statfs about {};
  return fstatfs(folder, &about) == 0 && about.f_type == PROC_SUPER_MAGIC;
}

bool is_same(const struct stat& one, const Place& place) {
  return one.st_dev == place.device && one.st_ino == place.inode;
}

}  // namespace

Descriptor Place::open(int flags) const {
  const bool of_procfs = S_ISLNK(mode);
  // Behind what the others write who have it open. What has taken the name is not to be emptied.
  const int how = of_procfs ? (flags & ~O_TRUNC) | O_APPEND : (flags & ~O_TRUNC) | O_NOFOLLOW;
  Descriptor file(openat(folder.get(), name.c_str(), how | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0 || of_procfs) return file;
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return {};
  if (!is_same(status, *this)) {
    errno = ESTALE;
    return {};
  }
  const bool empties = (flags & O_TRUNC) != 0 && S_ISREG(mode);
  return empties && ftruncate(file.get(), 0) != 0 ? Descriptor() : std::move(file);
}

Place find_place(const std::string& path) {
  Place place;
  std::filesystem::path at = path;
  for (int links = 0;; ++links) {
    const std::string parent = at.has_parent_path() ? at.parent_path().string() : ".";
    const int from = place.folder.get() < 0 ? AT_FDCWD : place.folder.get();
    place.folder = Descriptor(openat(from, parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (place.folder.get() < 0) fail_to_write(path, errno);
    place.name = at.filename();
    if (place.name.empty()) fail_to_write(path, EISDIR);
    struct stat status {};
    place.exists =
        fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!place.exists && errno != ENOENT) fail_to_write(path, errno);
    place.mode = status.st_mode;
    place.owner = status.st_uid;
    place.device = status.st_dev;
    place.inode = status.st_ino;
    const bool is_link = S_ISLNK(status.st_mode);
    if (is_link && is_procfs(place.folder.get())) return place;
    const bool is_of_other = status.st_uid != geteuid() && status.st_uid != 0;
    if (place.exists && is_of_other && (is_link || S_ISFIFO(status.st_mode))) {
      throw Error(Fault::usage,
                  fmt::format("'{}' is a {} of the user {}", path,
                              is_link ? "symbolic link" : "pipe", status.st_uid),
                  "Name the file to which it leads, or a file in a folder of your own.",
                  is_link ? ELOOP : EACCES);
    }
    if (!is_link) return place;
    if (links == kMostLinks) fail_to_write(path, ELOOP);
    std::array<char, PATH_MAX> target{};
    const ssize_t size =
        readlinkat(place.folder.get(), place.name.c_str(), target.data(), target.size());
    if (size < 0) fail_to_write(path, errno);
    at = std::string(target.data(), static_cast<std::size_t>(size));
  }
}

NewFile::NewFile(std::string path) : path_(std::move(path)), place_(find_place(path_)) {
  if (S_ISDIR(place_.mode)) fail_to_write(path_, EISDIR);
  if (place_.exists && !S_ISREG(place_.mode)) return;  // opened when it is written
  const std::string part = fmt::format("{}.{}.part", place_.name, getpid());
  unlinkat(place_.folder.get(), part.c_str(), 0);  // left by an earlier process of this number
  file_ = Descriptor(openat(place_.folder.get(), part.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file_.get() >= 0) {
    part_ = part;
    struct stat status {};
    if (fstat(file_.get(), &status) != 0) fail_to_write(path_, errno);
    place_.device = status.st_dev;
    place_.inode = status.st_ino;
    // The mode of another user's file may let that user change this one.
    if (place_.exists && place_.owner == geteuid()) fchmod(file_.get(), place_.mode & 0777);
    return;
  }
  const int code = errno;
  if (!place_.exists) fail_to_write(path_, code);
  if (place_.open(O_WRONLY).get() < 0) fail_to_write(path_, errno);
}

NewFile::~NewFile() {
  if (!part_.empty()) unlinkat(place_.folder.get(), part_.c_str(), 0);
}

int NewFile::descriptor() {
  if (file_.get() < 0) file_ = place_.open(O_WRONLY | O_TRUNC);
  if (file_.get() < 0) fail_to_write(path_, errno);
  return file_.get();
}

void NewFile::write(std::string_view text) {
  if (const int code = write_all(descriptor(), text); code != 0) fail_to_write(path_, code);
}

void NewFile::finish() {
  // A file system over a network may say here that it is full. A pipe cannot be synchronised.
  if (fsync(descriptor()) != 0 && errno != EINVAL && errno != EROFS) fail_to_write(path_, errno);
  if (part_.empty()) return;
  const int folder = place_.folder.get();
  if (renameat(folder, part_.c_str(), folder, place_.name.c_str()) != 0)
    fail_to_write(path_, errno);
  part_.clear();
  struct stat status {};
  if (fstatat(folder, place_.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !is_same(status, place_)) {
    throw Error(Fault::failed, fmt::format("'{}' was exchanged while it was written", path_),
                "Name a file in a folder to which no other user may write.");
  }
}

void check_writable(const std::string& path) {
  if (path.empty()) return;
  if (path == "-") {
    throw Error(Fault::usage, "write to '-': this cannot go to standard output",
                "Name a file; one of that name is './-'.");
  }
  try {
    const NewFile probe(path);
  } catch (const Error& error) {
    throw error.fault() == Fault::usage
        ? error
        : Error(Fault::usage, fmt::format("write to '{}'", path), kWritable, error.code());
  }
}

int write_all(int file, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace rdmabench::inline v1

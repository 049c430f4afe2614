#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "rdmabench/health/file_tree.h"

namespace rdmabench::health {

FolderStore::FolderStore(std::string root) : root_(std::move(root)) {
  if (!root_.ends_with('/')) root_ += '/';
}

Entry FolderStore::look(const std::string& path) const {
  const std::string full = root_ + path;
  struct stat status {};
  if (lstat(full.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) return {EntryKind::folder, ""};
  if (!S_ISLNK(status.st_mode)) return {EntryKind::file, ""};
  std::string target(4096, '\0');
  const ssize_t size = readlink(full.c_str(), target.data(), target.size());
  if (size < 0) return {};
  target.resize(static_cast<std::size_t>(size));
  return {EntryKind::link, std::move(target)};
}

FileBytes FolderStore::read(const std::string& path) const {
  const std::string full = root_ + path;
  // A tree from elsewhere may contain a pipe or a device: do not wait for them or read them.
  const int descriptor = open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return {"", errno};
  FileBytes file;
  struct stat status {};
  if (fstat(descriptor, &status) != 0) file.error = errno;
  if (file.error == 0 && !S_ISREG(status.st_mode)) {
    file.error = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  }
  // In an unpacked archive the mode of an empty file tells why it is empty; root could still read
  // it.
  const unsigned mode = status.st_mode & 0777U;
  if (file.error == 0 && status.st_size == 0 && mode == 0) file.error = EACCES;
  if (file.error == 0 && status.st_size == 0 && mode == 0200) file.error = EIO;
  if (file.error == 0) file.bytes.resize(kMostFileBytes);
  std::size_t size = 0;
  while (size < file.bytes.size()) {
    const ssize_t got = ::read(descriptor, file.bytes.data() + size, file.bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) file.error = errno;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  file.bytes.resize(size);
  close(descriptor);
  return file;
}

std::vector<std::string> FolderStore::list(const std::string& path) const {
  int ignored = 0;
  return list_folder(root_ + path, ignored);
}

}  // namespace rdmabench::health

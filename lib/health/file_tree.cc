#include "rdmabench/health/doctor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "base/descriptor.h"
#include "base/file.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr int kMostLinks = 40;  // as many as Linux follows
constexpr std::size_t kMostPath = 4096;

/// "a/b" and "c" of "a/b/c"; "" and "c" of "c".
std::pair<std::string, std::string> folder_and_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string join(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : folder + '/' + std::string(name);
}

}  // namespace

// The result has no link in it. "." is the root; "" means that nothing was found.
std::string FileTree::walk(std::string_view path, int depth) const {
  std::string at;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = folder_and_name(at).first;
      continue;
    }
    if (at.size() + name.size() > kMostPath) return "";
    const std::string next = follow(join(at, name), depth);
    if (next.empty()) return "";
    at = next == "." ? "" : next;
  }
  return at.empty() ? "." : at;
}

/// `path` is resolved except for its last part.
std::string FileTree::follow(const std::string& path, int depth) const {
  if (const auto known = folders_.find(path); known != folders_.end()) return known->second;
  const Entry entry = store_->look(path);
  std::string result;
  if (entry.kind == EntryKind::link && depth < kMostLinks) {
    const bool absolute = entry.target.starts_with('/');
    result =
        walk(absolute ? entry.target : folder_and_name(path).first + '/' + entry.target, depth + 1);
  } else if (entry.kind == EntryKind::file || entry.kind == EntryKind::folder) {
    result = path;
  }
  // Files may come and go; folders and links to folders are asked for often.
  if (entry.kind != EntryKind::file) folders_.emplace(path, result);
  return result;
}

FileBytes FileTree::read(std::string_view path) const {
  const std::string found = walk(path, 0);
  if (found.empty()) return {"", ENOENT};
  return store_->read(found);
}

std::vector<std::string> FileTree::list(std::string_view path) const {
  const std::string found = walk(path, 0);
  if (found.empty()) return {};
  return store_->list(found == "." ? "" : found);
}

bool FileTree::exists(std::string_view path) const {
  return !walk(path, 0).empty();
}

std::string FileTree::resolve(std::string_view path) const {
  return walk(path, 0);
}

std::string FileTree::link_name(std::string_view path) const {
  const auto [parent, name] = folder_and_name(std::string(path));
  const std::string folder = walk(parent, 0);
  if (folder.empty()) return "";
  const Entry entry = store_->look(join(folder == "." ? "" : folder, name));
  return entry.kind == EntryKind::link ? folder_and_name(entry.target).second : "";
}

void MemoryStore::add_file(const std::string& path, std::string bytes) {
  bytes.resize(std::min(bytes.size(), kMaxFileBytes));
  items_[path] = {EntryKind::file, std::move(bytes), 0};
}

void MemoryStore::add_unreadable(const std::string& path, int error) {
  items_[path] = {EntryKind::file, "", error};
}

void MemoryStore::add_link(const std::string& path, std::string target) {
  items_[path] = {EntryKind::link, std::move(target), 0};
}

void MemoryStore::add_folder(const std::string& path) {
  items_.try_emplace(path, Item{EntryKind::folder, "", 0});
}

void MemoryStore::remove(const std::string& path) {
  items_.erase(path);
  const std::string inside = path + '/';
  for (auto at = items_.lower_bound(inside); at != items_.end() && at->first.starts_with(inside);) {
    at = items_.erase(at);
  }
}

Entry MemoryStore::look(const std::string& path) const {
  if (const auto found = items_.find(path); found != items_.end()) {
    const Item& item = found->second;
    return {item.kind, item.kind == EntryKind::link ? item.text : ""};
  }
  const std::string inside = path + '/';
  const auto next = items_.lower_bound(inside);
  const bool holds_any = next != items_.end() && next->first.starts_with(inside);
  return {holds_any ? EntryKind::folder : EntryKind::none, ""};
}

FileBytes MemoryStore::read(const std::string& path) const {
  const auto found = items_.find(path);
  if (found == items_.end()) {
    return {"", look(path).kind == EntryKind::folder ? EISDIR : ENOENT};
  }
  const Item& item = found->second;
  if (item.kind != EntryKind::file) return {"", EISDIR};
  return {item.text, item.error};
}

std::vector<std::string> MemoryStore::list(const std::string& path) const {
  std::set<std::string> names;  // the map's order is "a", "a-b", "a/c"
  const std::string inside = path.empty() ? "" : path + '/';
  auto at = items_.lower_bound(inside);
  while (at != items_.end() && at->first.starts_with(inside)) {
    const std::string_view rest = std::string_view(at->first).substr(inside.size());
    const std::string name(rest.substr(0, rest.find('/')));
    // Skips the content of a folder: '0' is the character after '/'.
    at = name.size() == rest.size() ? std::next(at) : items_.lower_bound(inside + name + '0');
    names.insert(name);
  }
  return {names.begin(), names.end()};
}

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
  const Descriptor descriptor(open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (descriptor.get() < 0 || fstat(descriptor.get(), &status) != 0) return {"", errno};
  if (!S_ISREG(status.st_mode)) return {"", S_ISDIR(status.st_mode) ? EISDIR : EINVAL};
  // In an unpacked archive the mode of an empty file tells why it is empty; root could still read
  // it.
  const unsigned mode = status.st_mode & 0777U;
  if (status.st_size == 0 && mode == 0) return {"", EACCES};
  if (status.st_size == 0 && mode == 0200) return {"", EIO};
  FileText file = read_up_to(descriptor.get(), kMaxFileBytes);
  return {std::move(file.text), file.error};
}

std::vector<std::string> FolderStore::list(const std::string& path) const {
  int ignored = 0;
  return list_folder(root_ + path, ignored);
}

}  // namespace rdmabench::inline v1::health

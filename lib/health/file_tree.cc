#include "rdmabench/health/file_tree.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rdmabench::health {
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

}  // namespace rdmabench::health

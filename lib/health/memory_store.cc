#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "rdmabench/health/file_tree.h"

namespace rdmabench::health {

void MemoryStore::add_file(const std::string& path, std::string bytes) {
  bytes.resize(std::min(bytes.size(), kMostFileBytes));
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

}  // namespace rdmabench::health

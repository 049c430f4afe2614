// The files of a node: of this machine, of a folder or of a saved archive.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rdmabench::inline v1::health {

/// A longer file is read up to here.
inline constexpr std::size_t kMaxFileBytes = 65536;

struct FileBytes {
  std::string bytes;  ///< at most kMaxFileBytes
  int error = 0;      ///< errno of the call that failed; 0 if none did
};

enum class EntryKind : std::uint8_t { none, file, folder, link };

struct Entry {
  EntryKind kind = EntryKind::none;
  std::string target;  ///< of a link, unresolved
};

/// Where files come from. Paths are relative to the root, without "." and "..", and no component
/// but the last is ever a symbolic link: FileTree resolves them.
class FileStore {
 public:
  virtual ~FileStore() = default;
  virtual Entry look(const std::string& path) const = 0;
  virtual FileBytes read(const std::string& path) const = 0;
  /// Sorted; empty where it cannot be read.
  virtual std::vector<std::string> list(const std::string& path) const = 0;
};

/// A folder of this machine. Only regular files are opened, and none through a link.
class FolderStore : public FileStore {
 public:
  explicit FolderStore(std::string root);
  Entry look(const std::string& path) const override;
  FileBytes read(const std::string& path) const override;
  std::vector<std::string> list(const std::string& path) const override;

 private:
  std::string root_;  ///< ends in '/'
};

/// Files in memory: of an archive or of a test.
class MemoryStore : public FileStore {
 public:
  void add_file(const std::string& path, std::string bytes);
  /// An existing file whose reading fails with that errno.
  void add_unreadable(const std::string& path, int error);
  void add_link(const std::string& path, std::string target);
  void add_folder(const std::string& path);
  void remove(const std::string& path);

  struct Item {
    EntryKind kind = EntryKind::none;
    std::string text;  ///< a file's bytes or a link's target
    int error = 0;
  };
  const std::map<std::string, Item>& items() const noexcept { return items_; }

  Entry look(const std::string& path) const override;
  FileBytes read(const std::string& path) const override;
  std::vector<std::string> list(const std::string& path) const override;

 private:
  std::map<std::string, Item> items_;
};

/// Reads files below a root and cannot leave it: it follows symbolic links itself, takes an
/// absolute target from the root on, and stops ".." there. Never throws for what a path holds.
///
/// The facts of collect_live_facts() are files "rdmabench/NAME", in an archive too. Thread rule:
/// one thread at a time, because it caches folders.
class FileTree {
 public:
  explicit FileTree(std::shared_ptr<const FileStore> store) : store_(std::move(store)) {}

  FileBytes read(std::string_view path) const;
  std::vector<std::string> list(std::string_view path) const;
  bool exists(std::string_view path) const;

  /// Where the path leads when every link is followed; "" where there is nothing.
  std::string resolve(std::string_view path) const;

  /// The last part of what the link points to; "" where it is not a link.
  std::string link_name(std::string_view path) const;

 private:
  std::string walk(std::string_view path, int depth) const;
  std::string follow(const std::string& path, int depth) const;

  std::shared_ptr<const FileStore> store_;
  mutable std::unordered_map<std::string, std::string> folders_;
};

}  // namespace rdmabench::inline v1::health

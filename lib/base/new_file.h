// Files that are written, in folders in which other users may write too. What is open stays what it
// is, whatever happens to its name: nothing is opened again by its name.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace rdmabench::inline v1 {

/// The name that a path stands for, in an open folder. A symbolic link at its end is followed where
/// it is this user's or root's; another user's throws Error(usage), because it may lead to any file
/// of this user. So does another user's pipe, which nobody may ever read. Source: open(2),
/// symlink(7); the kernel asks this itself in sticky folders alone (fs.protected_symlinks and
/// fs.protected_fifos of proc(5)).
struct Place {
  Descriptor folder;  ///< to search, not to read
  std::string name;
  bool exists = false;
  mode_t mode = 0;  ///< of what exists, with the next three; a link is one of procfs
  uid_t owner = 0;
  dev_t device = 0;
  ino_t inode = 0;

  /// As open(2). An invalid one, with errno, where it cannot be opened or another file has taken
  /// its name.
  Descriptor open(int flags) const;
};

/// Throws Error(failed) that names the path and has an errno where its folder cannot be searched.
Place find_place(const std::string& path);

/// A file that takes its name when it is finished. Until then the old one stays. A device or a
/// pipe, and a file in a folder that cannot be written to, is written in place.
class NewFile {
 public:
  /// Throws as find_place() does, and Error(failed) where the path cannot be written.
  explicit NewFile(std::string path);
  /// Removes what was not finished.
  ~NewFile();
  NewFile& operator=(NewFile&&) = delete;

  /// To write to. Of a file in place this empties it first, and waits for the reader of a pipe.
  /// Throws Error(failed).
  int descriptor();

  /// All of it. Throws Error(failed).
  void write(std::string_view text);

  /// Writes what the system holds back and gives the file its name; descriptor() may be written to
  /// on. Throws Error(failed), also where another file has got the name.
  void finish();

 private:
  std::string path_;  ///< as it was given
  Place place_;       ///< with the numbers of the new file, where there is one
  std::string part_;  ///< its name until it is finished; "" of a file in place
  Descriptor file_;
};

/// Throws Error(usage) that names a path which cannot be written; before measuring. "" is none.
void check_writable(const std::string& path);

/// All of it to a file that is open; errno, or 0.
int write_all(int file, std::string_view text) noexcept;

}  // namespace rdmabench::inline v1

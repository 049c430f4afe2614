#include "rdmabench/health/doctor.h"

#include <cerrno>

#include "checks/text.h"

namespace rdmabench::inline v1::health {
namespace {

/// The kernel options that checks read; others are private and left out.
std::string without_other_options(std::string_view line) {
  std::string kept;
  for (const std::string& word : words_of(line)) {
    if (!word.starts_with("pci=") && !word.starts_with("init_on_alloc=")) continue;
    kept += (kept.empty() ? "" : " ") + word;
  }
  return kept + '\n';
}

/// Forwards all calls, and records what was found.
class RecordingStore : public FileStore {
 public:
  explicit RecordingStore(std::shared_ptr<const FileStore> store) : store_(std::move(store)) {}

  Entry look(const std::string& path) const override {
    Entry entry = store_->look(path);
    if (entry.kind == EntryKind::link) found_.add_link(path, entry.target);
    if (entry.kind == EntryKind::folder) found_.add_folder(path);
    if (entry.kind == EntryKind::file && found_.look(path).kind == EntryKind::none) {
      found_.add_unreadable(path, ENODATA);  // a check may only ask whether it exists
    }
    return entry;
  }

  FileBytes read(const std::string& path) const override {
    FileBytes file = store_->read(path);
    if (path == "proc/cmdline" && file.error == 0) file.bytes = without_other_options(file.bytes);
    if (file.error == 0) {
      found_.add_file(path, file.bytes);
    } else if (store_->look(path).kind == EntryKind::file) {
      found_.add_unreadable(path, file.error);
    }
    return file;
  }

  std::vector<std::string> list(const std::string& path) const override {
    std::vector<std::string> names = store_->list(path);
    for (const std::string& name : names) look(path.empty() ? name : path + '/' + name);
    return names;
  }

  const MemoryStore& found() const { return found_; }

 private:
  std::shared_ptr<const FileStore> store_;
  mutable MemoryStore found_;
};

}  // namespace

MemoryStore collect(std::shared_ptr<const FileStore> store) {
  const auto recorder = std::make_shared<RecordingStore>(std::move(store));
  const FileTree tree(recorder);
  diagnose(tree, "", {});
  // Some facts are read only if something is expected.
  for (const std::string& path : tree.list("rdmabench")) tree.read("rdmabench/" + path);
  return recorder->found();
}

}  // namespace rdmabench::inline v1::health

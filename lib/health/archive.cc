// Saved trees as tar files, by libarchive where this build has it.
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include "base/new_file.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/handle.h"
#include "rdmabench/features.h"
#include "rdmabench/health/doctor.h"

#if RDMABENCH_HAVE_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

namespace rdmabench::inline v1::health {

#if RDMABENCH_HAVE_ARCHIVE
namespace {

constexpr std::size_t kMostArchiveBytes = 64UL << 20;
constexpr std::size_t kMostEntries = 200000;
constexpr std::size_t kMostPath = 4096;
constexpr std::size_t kBlock = 10240;
constexpr std::size_t kHeader = 512;

// The mode of an empty file stores why it is empty.
constexpr unsigned kForbidden = 0;
constexpr unsigned kUnreadable = 0200;

using ArchiveReader = Handle<archive, archive_read_free>;
using Writer = Handle<archive, archive_write_free>;
using OwnedEntry = Handle<archive_entry, archive_entry_free>;

[[noreturn]] void refuse(const std::string& origin, std::string_view why) {
  throw Error(Fault::usage, fmt::format("{}: {}", origin, why),
              "Give a folder, or what 'rdmabench doctor --collect' wrote.");
}

/// "./sys/class" and "/sys/class" are "sys/class". Throws for a path that leads out of the root.
std::string inside(std::string_view path, const std::string& origin) {
  std::string clean;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") refuse(origin, "a path in it leads out of it");
    clean += clean.empty() ? "" : "/";
    clean += name;
  }
  if (clean.size() > kMostPath) refuse(origin, "a path in it is too long");
  return clean;
}

/// Reads the first kMaxFileBytes and skips the rest; `total` counts all bytes.
std::string read_data(archive* handle, const std::string& origin, std::size_t& total) {
  std::string bytes;
  std::string block(kBlock, '\0');
  while (true) {
    const la_ssize_t got = archive_read_data(handle, block.data(), block.size());
    if (got < 0) refuse(origin, "it is cut off, or damaged");
    if (got == 0) return bytes;
    const auto size = static_cast<std::size_t>(got);
    total += size;
    if (total > kMostArchiveBytes) refuse(origin, "it holds more than 64 MiB");
    if (bytes.size() < kMaxFileBytes) bytes.append(block, 0, size);
  }
}

void add_entry(MemoryStore& files, archive* handle, archive_entry* entry, const std::string& origin,
               std::size_t& total) {
  const char* const name = archive_entry_pathname(entry);
  const std::string path = inside(name == nullptr ? "" : name, origin);
  if (path.empty()) return;
  const auto kind = archive_entry_filetype(entry);
  if (kind == AE_IFDIR) {
    files.add_folder(path);
  } else if (kind == AE_IFLNK) {
    const char* const target = archive_entry_symlink(entry);
    if (target != nullptr) files.add_link(path, std::string(target).substr(0, kMostPath));
  } else if (kind == AE_IFREG && archive_entry_hardlink(entry) == nullptr) {
    const std::string bytes = read_data(handle, origin, total);
    const unsigned mode = archive_entry_perm(entry) & 0777U;
    if (bytes.empty() && mode == kForbidden) {
      files.add_unreadable(path, EACCES);
    } else if (bytes.empty() && mode == kUnreadable) {
      files.add_unreadable(path, EIO);
    } else {
      files.add_file(path, bytes);
    }
  }
}

std::shared_ptr<const FileStore> read_archive(const std::string& path) {
  const ArchiveReader reader(archive_read_new());
  if (!reader) throw Error(Fault::failed, "archive_read_new", "", ENOMEM);
  archive* const handle = reader.get();
  // Only these filters: some of libarchive's run programs.
  archive_read_support_format_tar(handle);
  archive_read_support_filter_gzip(handle);
  archive_read_support_filter_xz(handle);
  archive_read_support_filter_zstd(handle);
  if (archive_read_open_filename(handle, path.c_str(), kBlock) != ARCHIVE_OK) {
    refuse(path, "it is not a tar file");
  }
  auto files = std::make_shared<MemoryStore>();
  std::size_t total = 0;
  for (std::size_t entries = 0;; ++entries) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle, &entry);
    if (status == ARCHIVE_EOF && entries > 0) break;
    // The end of an archive is blocks of zeros, and so is what was never written.
    if (status == ARCHIVE_EOF) refuse(path, "the tar file holds nothing");
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
      refuse(path, "the tar file is cut off or damaged");
    if (entries == kMostEntries) refuse(path, "it has more than 200,000 entries");
    total += kHeader;
    add_entry(*files, handle, entry, path, total);
  }
  return files;
}

[[noreturn]] void cannot_write(archive* handle, const std::string& path) {
  const int code = archive_errno(handle);
  throw Error(Fault::failed, fmt::format("writing {}", path), "", code > 0 ? code : EIO);
}

void write_item(archive* handle, const std::string& name, const MemoryStore::Item& item,
                const std::string& path) {
  const OwnedEntry owned(archive_entry_new());
  archive_entry* const entry = owned.get();
  if (entry == nullptr) throw Error(Fault::failed, "archive_entry_new", "", ENOMEM);
  archive_entry_set_pathname(entry, name.c_str());
  if (item.kind == EntryKind::folder) {
    archive_entry_set_filetype(entry, AE_IFDIR);
    archive_entry_set_perm(entry, 0755);
  } else if (item.kind == EntryKind::link) {
    archive_entry_set_filetype(entry, AE_IFLNK);
    archive_entry_set_perm(entry, 0777);
    archive_entry_set_symlink(entry, item.text.c_str());
  } else {
    archive_entry_set_filetype(entry, AE_IFREG);
    const bool forbidden = item.error == EACCES || item.error == EPERM;
    archive_entry_set_perm(entry, item.error == 0 ? 0644 : forbidden ? kForbidden : kUnreadable);
    archive_entry_set_size(entry, static_cast<la_int64_t>(item.text.size()));
  }
  if (archive_write_header(handle, entry) != ARCHIVE_OK) cannot_write(handle, path);
  if (item.kind != EntryKind::file || item.text.empty()) return;
  const la_ssize_t written = archive_write_data(handle, item.text.data(), item.text.size());
  if (written != static_cast<la_ssize_t>(item.text.size())) cannot_write(handle, path);
}

}  // namespace

void write_archive(const MemoryStore& files, const std::string& path) {
  NewFile file(path);
  const Writer writer(archive_write_new());
  if (!writer) throw Error(Fault::failed, "archive_write_new", "", ENOMEM);
  archive* const handle = writer.get();
  archive_write_set_format_pax_restricted(handle);
  if (archive_write_open_fd(handle, file.descriptor()) != ARCHIVE_OK) cannot_write(handle, path);
  for (const auto& [name, item] : files.items()) write_item(handle, name, item, path);
  if (archive_write_close(handle) != ARCHIVE_OK) cannot_write(handle, path);
  file.finish();
}

#else
namespace {

constexpr std::string_view kRemedy =
    "Build it with -DRDMABENCH_ARCHIVE=ON (package libarchive-dev); or unpack the file and give the folder.";

std::shared_ptr<const FileStore> read_archive(const std::string& path) {
  throw Error(Fault::unavailable,
              fmt::format("{}: this build of rdmabench reads no archives", path), kRemedy);
}

}  // namespace

void write_archive(const MemoryStore& /*files*/, const std::string& path) {
  throw Error(Fault::unavailable,
              fmt::format("{}: this build of rdmabench writes no archives", path), kRemedy);
}
#endif

std::shared_ptr<const FileStore> open_store(const std::string& path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (std::filesystem::is_directory(status)) return std::make_shared<FolderStore>(path);
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(Fault::usage, fmt::format("{} is neither a folder nor a file", path),
                "Give a folder, or what 'rdmabench doctor --collect' wrote.", failure.value());
  }
  return read_archive(path);
}

}  // namespace rdmabench::inline v1::health

// Saving what the checks read into an archive, and reading one back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rdmabench/health/file_tree.h"

namespace rdmabench::health {

/// The variables whose values are looked at: of NCCL, UCX, libfabric and libibverbs. No other
/// variable is ever read.
std::span<const std::string_view> environment_names();

/// What this process can tell and no file does, as files "rdmabench/NAME": which of the device
/// nodes open, the size of /dev/shm, the listed environment variables, and where hwloc sees the PCI
/// devices. It opens /dev/infiniband/uverbs* and rdma_cm, and closes them again. Never throws.
void collect_live_facts(MemoryStore& facts);

/// This machine: its files and the facts, which are the paths below "rdmabench".
std::shared_ptr<const FileStore> live_store(std::shared_ptr<const MemoryStore> facts);

/// A folder, or a tar file (plain, gzip, xz or zstd), which is read into memory. Throws
/// Error(usage) for a path that is neither, an archive with a path that leads out of it, or more
/// than 64 MiB or 200,000 entries, and Error(unavailable) where this build cannot read archives.
std::shared_ptr<const FileStore> open_store(const std::string& path);

/// Exactly what every check, run once, reads from `store`: files, links, the folders they list, and
/// which files could not be read. Of the kernel's command line only the options that checks ask
/// for.
MemoryStore collect(std::shared_ptr<const FileStore> store);

/// Writes a plain tar file for open_store(). A file that could not be read is in it, empty, with
/// mode 0 (no permission) or 0200 (another error). Throws Error(failed), which names the path, or
/// Error(unavailable).
void write_archive(const MemoryStore& files, const std::string& path);

}  // namespace rdmabench::health

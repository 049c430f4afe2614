// The doctor: checks of one node that need no measurement, no vendor's tool and no privilege.
//
// Every check reads files below a root, so that a saved tree gives the same verdicts as the node
// did. Source of the catalogue: docs/doctor.md, which is checked against checks(). Only
// ask_firmware() starts a vendor's tool.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/health/expectations.h"
#include "rdmabench/health/file_tree.h"
#include "rdmabench/health/finding.h"

namespace rdmabench::inline v1::health {

/// What is known of a check without running it.
struct CheckInfo {
  std::string_view id;  ///< "port.state": the group, then the name
  std::string_view title;
  std::string_view reads;  ///< P is a port's folder, D a PCI function's, N a network device's
  std::string_view rule;
  std::string_view remedy;  ///< the finding may have a more exact one
  std::string_view source;
  bool compares = false;      ///< all peers should observe the same
  bool root = false;          ///< only root can read some of its files
  std::string_view action{};  ///< the nearest to the first step of the remedy

  std::string_view group() const { return id.substr(0, id.find('.')); }
};

/// Every check, by group. Lives as long as the program.
std::span<const CheckInfo> checks();

/// Null where no check has that id.
const CheckInfo* find_check(std::string_view id) noexcept;

struct DoctorOptions {
  Expectations expectations;
  std::vector<std::string> only;  ///< ids and groups; empty: all
};

/// Runs the checks, each on every subject that it is for. Throws Error(usage) for a name in
/// `only` that is neither a check nor a group; it never throws because of a file.
Diagnosis diagnose(const FileTree& tree, std::string root, const DoctorOptions& options);

/// What another node's doctor wrote.
struct Peer {
  std::string host;
  struct Observation {
    std::string id, subject, observed;
  };
  std::vector<Observation> observations;
};

/// Reads a document of docs/schema/rdmabench-doctor-1.schema.json. Throws Error(usage), which names
/// `origin`; trusts nothing in it.
Peer read_peer(std::string_view json, std::string_view origin);

/// Compares every finding of a check with CheckInfo::compares with what most peers observed: more
/// than half of at least two other hosts must agree. This node's own document and one without a
/// host do not count; two documents of one host throw Error(usage). A difference becomes WARN. A
/// finding without an expectation that agrees becomes PASS. A WARN or FAIL stays.
void compare_with_peers(Diagnosis& diagnosis, std::span<const Peer> peers);

/// Compares the GIDs of address.gid, address.roce_v2 and address.gid_index with what an earlier
/// document of this node observed at the same place. One that moved or changed becomes WARN; a WARN
/// or FAIL stays. Throws Error(usage) for a document of another host.
void compare_with_earlier(Diagnosis& diagnosis, const Peer& earlier);

/// The action for an operator: "change setting", "update software", "replace
/// cable", "reseat", "reboot", "restart job", "investigate" or "ask vendor" for WARN and FAIL, else
/// "". The remedy says how.
std::string_view action_of(const Finding& finding) noexcept;

/// One document of docs/schema/rdmabench-doctor-1.schema.json, ended by a newline.
std::string to_json(const Diagnosis& diagnosis);

/// RFC 4180, a line for each finding, with the names of the JSON; items of evidence are separated
/// by "; ".
std::string to_csv(const Diagnosis& diagnosis);

/// One line of at most 240 bytes for schedulers and monitors: the first FAIL or ERROR with its
/// action, what was observed, its remedy and how many more there are, or that there are none. Ended
/// by a newline.
std::string to_line(const Diagnosis& diagnosis);

/// For people: first FAIL, ERROR and WARN with their remedies, then SKIP by reason; with `all` also
/// PASS.
std::string to_text(const Diagnosis& diagnosis, bool all);

/// The environment variables that are read: of NCCL, UCX, libfabric and libibverbs. No other
/// variable is ever read.
std::span<const std::string_view> environment_names();

/// Facts that are in no file, as files "rdmabench/NAME": which of the device
/// nodes open, the size of /dev/shm, the listed environment variables, and where hwloc sees the PCI
/// devices. It opens /dev/infiniband/uverbs* and rdma_cm, and closes them again. Never throws.
void collect_live_facts(MemoryStore& facts);

/// Adds to them what the firmware of mlx5 devices is set to and no file tells, as files
/// "rdmabench/firmware/ADDRESS": starts mstconfig or mlxconfig, of /usr/bin or /usr/sbin, for each
/// device, and waits for it at most 10 s. Without root it starts nothing, and the files are
/// unreadable. Never throws.
void ask_firmware(MemoryStore& facts);

/// This machine: its files and the facts, which are the paths below "rdmabench".
std::shared_ptr<const FileStore> live_store(std::shared_ptr<const MemoryStore> facts);

/// A folder, or a tar file (plain, gzip, xz or zstd), which is read into memory. Throws
/// Error(usage) for a path that is neither, an archive with a path that leads out of it, or more
/// than 64 MiB or 200,000 entries, and Error(unavailable) where this build cannot read archives.
std::shared_ptr<const FileStore> open_store(const std::string& path);

/// Exactly what the checks read from `store`: files, links, the folders they list, and
/// which files could not be read. Of the kernel's command line only the options that checks ask
/// for.
MemoryStore collect(std::shared_ptr<const FileStore> store);

/// Writes a plain tar file for open_store(). A file that could not be read is in it, empty, with
/// mode 0 (no permission) or 0200 (another error). Throws Error(failed), which names the path, or
/// Error(unavailable).
void write_archive(const MemoryStore& files, const std::string& path);

}  // namespace rdmabench::inline v1::health

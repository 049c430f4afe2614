// The doctor: checks of one node that need no measurement, no vendor's tool and no privilege.
//
// Every check reads files below a root, so that a saved tree gives the same verdicts as the node
// did. Source of the catalogue: docs/doctor.md, which is checked against checks(). Only
// ask_firmware() starts a vendor's tool.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rdmabench/results/result.h"

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

/// Where an expectation came from.
enum class Source : std::uint8_t {
  none,      ///< there was none
  standard,  ///< a specification, or the documentation of a driver or of a tool
  derived,   ///< from other facts of this node: rate, MTU, PCIe path, its other ports
  profile,   ///< the file of --profile
  peers,     ///< what the majority of the peers has
  user,      ///< --expect
  earlier,   ///< what this node had in an earlier document
};

/// "", "standard", "derived", "profile", "peers", "user", "earlier".
std::string_view name(Source source) noexcept;

/// Why a finding is SKIP.
enum class Skipped : std::uint8_t {
  none,            ///< it is not SKIP
  inapplicable,    ///< the check is not for such a node, device or port
  no_expectation,  ///< there is nothing to compare with
  unread,          ///< a file cannot be read, or is not there
  symptom,         ///< it follows from another finding
  unused,          ///< of a port or a device that is not meant to be used
};

struct Finding {
  std::string id;       ///< of its check: "port.state"
  std::string subject;  ///< "mlx5_0:1", "0000:17:00.0", "node"
  Status status = Status::error;
  std::string reason;    ///< of SKIP and ERROR
  std::string observed;  ///< "" if nothing could be read
  std::string expected;
  Source source = Source::none;       ///< of `expected`
  std::string remedy;                 ///< of WARN and FAIL
  std::vector<std::string> evidence;  ///< the files that were read, under the root
  std::string_view action{};          ///< static text; "": that of its check
  Skipped skipped = Skipped::none;
};

/// How many findings have each status.
struct Tally {
  std::uint32_t pass = 0, warn = 0, fail = 0, skip = 0, error = 0;

  bool failed() const noexcept { return fail + error > 0; }
};

/// All that `doctor` found on one node.
struct Diagnosis {
  std::string host;  ///< the node's name; "" if it is unknown
  std::string root;  ///< what was read: "/", a folder, a tar file
  std::vector<Finding> findings;
  std::optional<std::size_t> devices{};  ///< RDMA devices; none = nobody counted them

  Tally tally() const noexcept;
};

/// One thing that can be expected.
struct ExpectationKey {
  std::string_view name;
  std::string_view meaning;
  bool number;                                      ///< the value is a whole number
  bool of_device;                                   ///< of RDMA devices or their ports
  bool (*takes)(std::string_view value) = nullptr;  ///< null: any text
};

std::span<const ExpectationKey> expectation_keys();

struct Expectation {
  std::string value;
  Source source = Source::user;
};

/// By key. A value of the user replaces one of the profile.
class Expectations {
 public:
  /// "KEY=VALUE". Throws Error(usage) for an unknown key, which lists the known ones, or a value
  /// that is not a number where one is required.
  void add_user(std::string_view text);

  /// A JSON object of keys and values: {"rate_gbps": 400, "firmware": "28.43.1014"}. A key
  /// "schema" or "comment" is ignored, and "expect", which is for measurements. Throws
  /// Error(usage), which names `origin`.
  void add_profile(std::string_view json, std::string_view origin);

  /// Null where nothing was expected.
  const Expectation* find(std::string_view key) const;

 private:
  void add(std::string_view key, std::string value, Source source);

  std::map<std::string, Expectation, std::less<>> values_;
};

/// What is known of a check without running it.
struct CheckInfo {
  std::string_view id;  ///< "port.state": the group, then the name
  std::string_view title;
  std::string_view reads;  ///< P is a port's folder, D a PCI function's, N a network device's
  /// Ids of checks, ", " between them: the causes of which a fault here would be a symptom, on the
  /// same port, GPU or device, the device of the port, or the node.
  std::string_view rests_on{};
  std::string_view rule;
  std::string_view remedy;  ///< the finding may have a more exact one
  std::string_view source;  ///< of the rule: a file of the kernel, a specification, a guide
  /// What a FAIL says of its subject, to whatever rests on it: "is down". "" if nothing does.
  std::string_view as_cause{};
  std::string_view action = "change setting";  ///< the nearest to the first step of the remedy
  bool compares = false;                       ///< all peers should observe the same
  bool root = false;                           ///< only root can read some of its files

  std::string_view group() const { return id.substr(0, id.find('.')); }
};

/// Every check, by group. Lives as long as the program.
std::span<const CheckInfo> checks();

/// Null where no check has that id.
const CheckInfo* find_check(std::string_view id) noexcept;

struct DoctorOptions {
  Expectations expectations;
  /// Ids of checks() and their group()s, "pcie" or "port"; empty: all.
  std::vector<std::string> only;
};

/// Runs the checks, each on every subject that it is for, causes first. What rests on a cause that
/// FAILs or is unknown is SKIP, "port mlx5_0:1 is down"; a WARN is SKIP where its cause is WARN
/// too. A cause that made a finding SKIP is told even if `only` does not name it. Throws
/// Error(usage) for a name in `only` that is neither a check nor a group; it never throws because
/// of a file.
Diagnosis diagnose(const FileTree& tree, std::string root, const DoctorOptions& options);

/// What another node's doctor wrote.
struct Peer {
  std::string host;
  struct Observation {
    std::string id, subject, observed;
  };
  std::vector<Observation> observations;
  std::uint32_t failed = 0;  ///< of its checks: FAIL or ERROR
};

/// Reads a document of docs/schema/rdmabench-doctor-1.schema.json. Throws Error(usage), which names
/// `origin`; trusts nothing in it.
Peer read_peer(std::string_view json, std::string_view origin);

/// Compares every finding of a check with CheckInfo::compares, and of what a node has a number of,
/// with what most peers observed: more than half of at least two other hosts must agree. This
/// node's own document and one without a host do not count; two documents of one host throw
/// Error(usage). A difference becomes WARN; fewer devices, ports, GPUs, NVLinks or memory become
/// FAIL. A finding without an expectation that agrees becomes PASS. A WARN or FAIL stays.
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
/// action, what was observed, its remedy and how many more there are, or that there are none, and
/// how many WARN. Ended by a newline.
std::string to_line(const Diagnosis& diagnosis);

/// For people: FAIL, ERROR and WARN with their remedies, alike ones together, what is not judged,
/// and how many checks are SKIP. With `all` each finding for itself, PASS and SKIP too.
std::string to_text(const Diagnosis& diagnosis, bool all);

/// The environment variables that are read: of NCCL, UCX, libfabric and libibverbs. No other
/// variable is ever read.
std::span<const std::string_view> environment_names();

/// Facts that are in no file, as files "rdmabench/NAME": which of the device
/// nodes open, the size of /dev/shm, the listed environment variables, and where hwloc sees the PCI
/// devices. It opens /dev/infiniband/uverbs* and rdma_cm, and closes them again. Where a GPU has
/// NVIDIA's driver, it loads libnvidia-ml.so.1 and asks of the GPUs in a child process, which it
/// starts, and kills at `gpu_limit`; what was answered until then is kept. Never throws.
void collect_live_facts(MemoryStore& facts,
                        std::chrono::milliseconds gpu_limit = std::chrono::milliseconds(100));

/// Adds to them what the firmware of mlx5 devices is set to and no file tells, as files
/// "rdmabench/firmware/ADDRESS": starts mstconfig or mlxconfig, of /usr/bin or /usr/sbin, for each
/// device, and waits for it at most 10 s. Without root it starts nothing, and the files are
/// unreadable. Never throws.
void ask_firmware(MemoryStore& facts);

/// This machine: its files and the facts, which are the paths below "rdmabench". Without any it
/// calls collect_live_facts().
std::shared_ptr<const FileStore> live_store(std::shared_ptr<const MemoryStore> facts = nullptr);

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

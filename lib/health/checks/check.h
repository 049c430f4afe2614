// A check and its arguments. Private to this room.
//
// A new check is a function in the file of its group and a row of that file's table, a new file a
// row of checks.inc. It reads through its Probe, which records what was read.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/pci_link.h"
#include "health/action.h"
#include "inventory.h"
#include "pci.h"
#include "rdmabench/health/doctor.h"
#include "text.h"

namespace rdmabench::inline v1::health {

/// A finding under construction. The last verdict counts; without any the finding is an ERROR.
class Probe {
 public:
  Probe(const FileTree& tree, const Inventory& node, const Expectations& expectations,
        const CheckInfo& check, std::string subject);

  const Inventory& node() const { return node_; }

  /// A file's text. If it cannot be read, the finding becomes SKIP with the reason, which names a
  /// missing privilege.
  std::optional<std::string> text(const std::string& path);
  std::optional<std::string> line(const std::string& path);  ///< its first line
  /// The finding becomes an ERROR if the first line is not a whole number.
  std::optional<std::uint64_t> number(const std::string& path);

  /// The same for optional files, without a verdict: "" or none if they cannot be read.
  std::string try_text(const std::string& path);
  std::string try_line(const std::string& path);
  std::optional<std::uint64_t> try_number(const std::string& path);
  /// Notes what the inventory has read.
  void has_read(const std::string& path);
  std::vector<std::string> list(const std::string& path) const { return tree_.list(path); }
  bool exists(const std::string& path) const { return tree_.exists(path); }
  /// The target of a link; "" if it leads nowhere.
  std::string resolve(const std::string& path) const { return tree_.resolve(path); }
  std::string link_name(const std::string& path) const { return tree_.link_name(path); }

  /// What a user or a profile expects; null if nothing.
  const Expectation* expectation(std::string_view key) const { return expectations_.find(key); }

  void observe(std::string text) { finding_.observed = std::move(text); }
  void expect(std::string text, Source source);

  void pass() { judge(Status::pass); }
  void warn(std::string_view remedy = {}) { judge(Status::warn, remedy); }
  void fail(std::string_view remedy = {}) { judge(Status::fail, remedy); }
  /// Instead of that of the check.
  void action(std::string_view action) { finding_.action = action; }
  void skip(std::string reason) { judge(Status::skip, {}, std::move(reason)); }
  void skip(std::string reason, Skipped why) {
    skip(std::move(reason));
    finding_.skipped = why;
  }
  void error(std::string reason) {
    judge(Status::error, {}, std::move(reason));
    unknown_ = true;
  }
  /// PASS if `good`, else `bad`.
  void judge_by(bool good, Status bad, std::string_view remedy = {});
  void judge_by(bool good, Status bad, std::string observed, std::string expected, Source source,
                std::string_view remedy = {});

  /// Compares a value with the expectation for that key: PASS if it equals one of its
  /// comma-separated alternatives, else `bad`. Without an expectation SKIP; a comparison with peers
  /// may change that.
  void compare(std::string_view key, const std::string& observed, Status bad = Status::warn);

  Status status() const { return finding_.status; }
  /// Whether it is SKIP or ERROR because a file that is there could not be read or understood.
  bool unknown() const { return unknown_; }

  Finding take();

 private:
  void judge(Status status, std::string_view remedy = {}, std::string reason = {});
  FileBytes read(const std::string& path);

  const FileTree& tree_;
  const Inventory& node_;
  const Expectations& expectations_;
  const CheckInfo& check_;
  Finding finding_;
  bool unknown_ = true;
};

inline constexpr std::string_view kNothingToCompare =
    "nothing to compare it with: give --expect, --profile or --peers";

inline constexpr std::string_view kIwarp = "iWARP, which runs over TCP";

inline constexpr std::string_view kNoFunction = "a device without a PCI function";

using NodeCheck = void (*)(Probe&);
using DeviceCheck = void (*)(Probe&, const RdmaDevice&);
using FunctionCheck = void (*)(Probe&, const PciFunction&);
using PortCheck = void (*)(Probe&, const RdmaPort&);
using GpuCheck = void (*)(Probe&, const Gpu&);

/// The subjects of a check: the node once, or each of its devices, their PCI functions, ports or
/// GPUs.
using CheckFunction = std::variant<NodeCheck, DeviceCheck, FunctionCheck, PortCheck, GpuCheck>;

/// A row: {{.id = "port.state", ...}, function}.
struct Check : CheckInfo {
  CheckFunction run;
};

// One table for each file.
#define CHECKS(name) extern const std::span<const Check> name;
#include "checks.inc"
#undef CHECKS

/// 0 where the kernel does not tell.
std::uint64_t numa_nodes(Probe& probe);

/// FAIL where a function has no NUMA node on a node of several.
void judge_numa_node(Probe& probe, const PciFunction& function);

/// Seconds since the node booted; none if unknown.
std::optional<double> uptime_s(Probe& probe);

/// Whether the running kernel is of that release or a newer one; false where it does not tell.
bool kernel_is(Probe& probe, std::uint64_t major, std::uint64_t minor);

/// The port's GIDs, which rest on that folder.
const std::vector<Gid>& gids_of(Probe& probe, const RdmaPort& port);

/// What tells one PCIe link from another: the bridge above, else bus and slot. "" without a
/// function.
std::string link_of_function(const PciFunction& function);

/// The devices of one card that carry the same port over another PCIe link each, this one among
/// them: Socket Direct, or a slot of which every function has a part of the lanes.
std::vector<const RdmaDevice*> halves_of(const Inventory& node, const RdmaDevice& device);

/// A listed environment variable of the process that ran the doctor, or one of NCCL that its files
/// set; none if neither.
std::optional<std::string> environment(Probe& probe, std::string_view name);

/// The facts of the port's network device (ethernet.h).
std::string ethernet_file(const RdmaPort& port);

/// A line of them without its key; none, with the finding SKIP, where there is none.
std::optional<std::string> ethernet_fact(Probe& probe, const RdmaPort& port, std::string_view key);

/// VALUE of "KEY=VALUE" among the words of a line; "" if none.
std::string value_of_word(std::string_view line, std::string_view key);

}  // namespace rdmabench::inline v1::health

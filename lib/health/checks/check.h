// A check, and what it is given. Private to this room.
//
// A new check is a function in the file of its group and a row of that file's table. It reads
// through its Probe, which remembers what was read and cannot be made to pass without a reading.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../file.h"
#include "inventory.h"
#include "pci.h"
#include "rdmabench/health/doctor.h"
#include "text.h"

namespace rdmabench::health {

/// One finding in the making. The last verdict counts; without any the finding is an ERROR.
class Probe {
 public:
  Probe(const FileTree& tree, const Inventory& node, const Expectations& expectations,
        const CheckInfo& check, std::string subject);

  const Inventory& node() const { return node_; }

  /// A file's text, or why it cannot be read: then the finding is SKIP for now, and naming the
  /// privilege where that is missing.
  std::optional<std::string> text(const std::string& path);
  std::optional<std::string> line(const std::string& path);  ///< its first line
  /// A first line that is not a whole number makes the finding an ERROR.
  std::optional<std::uint64_t> number(const std::string& path);

  /// The same without a verdict, for what need not be there: "" and none.
  std::string try_text(const std::string& path);
  std::string try_line(const std::string& path);
  std::optional<std::uint64_t> try_number(const std::string& path);
  std::vector<std::string> list(const std::string& path);
  bool exists(const std::string& path);
  /// Where it leads; "" for nowhere.
  std::string resolve(const std::string& path);
  std::string link_name(const std::string& path);

  /// What a user or a profile expects; null for nothing.
  const Expectation* expectation(std::string_view key) const { return expectations_.find(key); }

  void observe(std::string text) { finding_.observed = std::move(text); }
  void expect(std::string text, Source source);

  void pass() { judge(Status::pass); }
  void warn(std::string_view remedy = {}) { judge(Status::warn, remedy); }
  void fail(std::string_view remedy = {}) { judge(Status::fail, remedy); }
  void skip(std::string reason) { judge(Status::skip, {}, std::move(reason)); }
  void error(std::string reason) { judge(Status::error, {}, std::move(reason)); }
  /// PASS or that.
  void judge_by(bool good, Status bad, std::string_view remedy = {});

  /// Holds a value against what is expected under that key: PASS if one of its alternatives, parted
  /// by commas, is equal; else `bad`. Without an expectation SKIP, which peers may still turn.
  void compare(std::string_view key, std::string observed, Status bad = Status::warn);

  Finding take();

 private:
  void judge(Status status, std::string_view remedy = {}, std::string reason = {});
  FileBytes read(const std::string& path);

  const FileTree& tree_;
  const Inventory& node_;
  const Expectations& expectations_;
  const CheckInfo& check_;
  Finding finding_;
};

inline constexpr std::string_view kNothingToCompare =
    "nothing to compare it with: give --expect, --profile or --peers";

using NodeCheck = void (*)(Probe&);
using DeviceCheck = void (*)(Probe&, const RdmaDevice&);
using PortCheck = void (*)(Probe&, const RdmaPort&);
using GpuCheck = void (*)(Probe&, const Gpu&);

/// What a check is run on: the node once, or each of its devices, ports or GPUs.
using CheckFunction = std::variant<NodeCheck, DeviceCheck, PortCheck, GpuCheck>;

struct Check {
  CheckInfo info;
  CheckFunction run;
};

// One table for each group, each in the file of its name.
std::span<const Check> device_checks();
std::span<const Check> port_checks();
std::span<const Check> counter_checks();
std::span<const Check> address_checks();
std::span<const Check> qos_checks();
std::span<const Check> pcie_checks();
std::span<const Check> iommu_checks();
std::span<const Check> gpu_checks();
std::span<const Check> numa_checks();
std::span<const Check> cpu_checks();
std::span<const Check> os_checks();
std::span<const Check> limit_checks();
std::span<const Check> software_checks();
std::span<const Check> env_checks();

/// All of them, in that order.
const std::vector<const Check*>& all_checks();

/// Seconds since the node was started; none where it cannot be read.
std::optional<double> uptime_s(Probe& probe);

/// A listed environment variable of the process that ran the doctor; none where it was not set.
std::optional<std::string> environment(Probe& probe, std::string_view name);

/// The rate of a port, Gb/s; 0 where it does not tell one.
double rate_gbps(std::string_view rate_line);

}  // namespace rdmabench::health

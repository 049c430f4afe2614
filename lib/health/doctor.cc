#include "rdmabench/health/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "checks/check.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::string_view kSourceNames[]{"",      "standard", "derived", "profile",
                                          "peers", "user",     "earlier"};

/// In the order of their groups.
const std::vector<const Check*>& all_checks() {
  static const std::vector<const Check*> table = [] {
    std::vector<const Check*> rows;
    for (const auto group : {kDeviceChecks, kPortChecks, kCounterChecks, kAddressChecks, kQosChecks,
                             kPcieChecks, kIommuChecks, kGpuChecks, kNumaChecks, kCpuChecks,
                             kOsChecks, kLimitChecks, kSoftwareChecks, kEnvChecks, kLogChecks}) {
      for (const Check& check : group) rows.push_back(&check);
    }
    return rows;
  }();
  return table;
}

/// Runs one check on each of its subjects.
class Runner {
 public:
  Runner(const FileTree& tree, const Expectations& expectations)
      : tree_(tree), expectations_(expectations), node_(tree) {}

  std::vector<Finding> apply(const Check& check) {
    findings_.clear();
    std::visit([&](const auto run) { for_each_subject(check, run); }, check.run);
    return std::move(findings_);
  }

 private:
  void for_each_subject(const CheckInfo& check, NodeCheck run) {
    one(check, "node", [&](Probe& probe) { run(probe); });
  }

  void for_each_subject(const CheckInfo& check, DeviceCheck run) {
    for (const RdmaDevice& device : node_.devices) {
      one(check, device.name, [&](Probe& probe) { run(probe, device); });
    }
    if (findings_.empty()) none(check, "this node has no RDMA device");
  }

  void for_each_subject(const CheckInfo& check, FunctionCheck run) {
    for (const RdmaDevice& device : node_.devices) {
      one(check, device.name, [&](Probe& probe) {
        device.physical() ? run(probe, device.pci) : probe.skip(std::string(kNoFunction));
      });
    }
    if (findings_.empty()) none(check, "this node has no RDMA device");
  }

  void for_each_subject(const CheckInfo& check, PortCheck run) {
    for (const RdmaDevice& device : node_.devices) {
      for (const RdmaPort& port : device.ports) {
        one(check, port.name, [&](Probe& probe) { run(probe, port); });
      }
    }
    if (findings_.empty()) none(check, "this node has no RDMA port");
  }

  void for_each_subject(const CheckInfo& check, GpuCheck run) {
    for (const Gpu& gpu : node_.gpus) {
      one(check, gpu.pci.address, [&](Probe& probe) { run(probe, gpu); });
    }
    if (findings_.empty()) none(check, "this node has no GPU");
  }

  void none(const CheckInfo& check, const char* reason) {
    one(check, "node", [&](Probe& probe) { probe.skip(reason); });
  }

  template <class Run>
  void one(const CheckInfo& check, const std::string& subject, Run run) {
    Probe probe(tree_, node_, expectations_, check, subject);
    try {
      run(probe);
    } catch (const std::exception& failure) {
      probe.error(failure.what());
    }
    findings_.push_back(probe.take());
  }

  const FileTree& tree_;
  const Expectations& expectations_;
  Inventory node_;
  std::vector<Finding> findings_;
};

bool is_wanted(const CheckInfo& check, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& name) {
           return name == check.id || name == check.group();
         });
}

void refuse_unknown(const std::vector<std::string>& only) {
  for (const std::string& name : only) {
    std::string groups;
    bool known = false;
    for (const CheckInfo& check : checks()) {
      known = known || name == check.id || name == check.group();
      const std::string group(check.group());
      if (groups.size() < group.size() || !groups.ends_with(group)) {
        groups += (groups.empty() ? "" : ", ") + group;
      }
    }
    if (known) continue;
    throw Error(Fault::usage, fmt::format("'{}' is neither a check nor a group of checks", name),
                fmt::format("Groups are {}; checks are in docs/doctor.md and in --list.", groups));
  }
}

}  // namespace

std::string_view name(Source source) noexcept {
  return kSourceNames[static_cast<std::size_t>(source)];
}

Tally Diagnosis::tally() const noexcept {
  const auto count = [this](Status status) {
    return static_cast<std::uint32_t>(
        std::count_if(findings.begin(), findings.end(),
                      [status](const Finding& finding) { return finding.status == status; }));
  };
  return {.pass = count(Status::pass),
          .warn = count(Status::warn),
          .fail = count(Status::fail),
          .skip = count(Status::skip),
          .error = count(Status::error)};
}

std::span<const CheckInfo> checks() {
  static const std::vector<CheckInfo> infos = [] {
    std::vector<CheckInfo> rows;
    for (const Check* check : all_checks()) rows.push_back(*check);
    return rows;
  }();
  return infos;
}

const CheckInfo* find_check(std::string_view id) noexcept {
  for (const CheckInfo& check : checks()) {
    if (check.id == id) return &check;
  }
  return nullptr;
}

std::string_view action_of(const Finding& finding) noexcept {
  if (finding.status != Status::fail && finding.status != Status::warn) return "";
  if (!finding.action.empty()) return finding.action;
  const CheckInfo* const check = find_check(finding.id);
  return check == nullptr ? action::kChangeSetting : check->action;
}

Diagnosis diagnose(const FileTree& tree, std::string root, const DoctorOptions& options) {
  refuse_unknown(options.only);
  Diagnosis diagnosis;
  diagnosis.root = std::move(root);
  diagnosis.host = one_line(tree.read("proc/sys/kernel/hostname").bytes);
  Runner runner(tree, options.expectations);
  for (const Check* const check : all_checks()) {
    if (!is_wanted(*check, options.only)) continue;
    std::vector<Finding> found = runner.apply(*check);
    std::move(found.begin(), found.end(), std::back_inserter(diagnosis.findings));
  }
  return diagnosis;
}

}  // namespace rdmabench::inline v1::health

#include "rdmabench/health/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "base/text.h"
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
#define CHECKS(name) name,
    for (const auto group : {
#include "checks/checks.inc"
         }) {
#undef CHECKS
      for (const Check& check : group) rows.push_back(&check);
    }
    return rows;
  }();
  return table;
}

/// Of a check in the table.
std::size_t place_of(std::string_view id) {
  const auto& all = all_checks();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Check* check) { return check->id == id; });
  return static_cast<std::size_t>(found - all.begin());
}

/// What a finding is about; all null: the node.
struct Subject {
  const RdmaDevice* device = nullptr;  ///< a port's too
  const RdmaPort* port = nullptr;
  const Gpu* gpu = nullptr;

  std::string name() const {
    if (port != nullptr) return port->name;
    if (device != nullptr) return device->name;
    return gpu != nullptr ? gpu->pci.address : "node";
  }

  /// "port mlx5_0:1".
  std::string words() const {
    if (port != nullptr) return "port " + port->name;
    if (device != nullptr) return "device " + device->name;
    return gpu != nullptr ? "GPU " + gpu->pci.address : "this node";
  }

  /// Why it is listed and not judged; "" if it is judged.
  std::string_view unused() const {
    if (port != nullptr) return port->unused;
    return device != nullptr ? std::string_view(device->unused) : "";
  }

  /// Whether one can be the cause of what is found on the other: no part of them differs.
  bool touches(const Subject& other) const {
    const auto same = [](const auto* mine, const auto* theirs) {
      return mine == nullptr || theirs == nullptr || mine == theirs;
    };
    return same(device, other.device) && same(port, other.port) && same(gpu, other.gpu);
  }
};

struct Outcome {
  Finding finding;
  Subject subject;
  bool unknown = false;       ///< because a file could not be read
  Outcome* cause = nullptr;   ///< the first one, of which this is a symptom
  bool has_symptoms = false;  ///< at least one
};

/// Runs checks, and before each those that it rests on.
class Runner {
 public:
  Runner(const FileTree& tree, const Expectations& expectations)
      : tree_(tree), expectations_(expectations), node_(tree), outcomes_(all_checks().size()) {
    choose_ports(node_, tree, expectations);
  }

  /// What `place` found; each check runs once.
  std::vector<Outcome>& outcomes_of(std::size_t place) {
    std::vector<Outcome>& found = outcomes_[place];
    if (!found.empty()) return found;
    const Check& check = *all_checks()[place];
    std::vector<std::vector<Outcome>*> causes;
    if (!check.rests_on.empty()) {
      for (const std::string_view id : split(check.rests_on, ',')) {
        causes.push_back(&outcomes_of(place_of(trimmed(id))));
      }
    }
    causes_ = std::move(causes);
    std::visit([&](const auto function) { for_each_subject(found, check, function); }, check.run);
    return found;
  }

  std::vector<std::vector<Outcome>>& outcomes() { return outcomes_; }

  std::size_t devices() const { return node_.devices.size(); }

 private:
  void for_each_subject(std::vector<Outcome>& found, const CheckInfo& check, NodeCheck run) {
    one(found, check, {}, [&](Probe& probe) { run(probe); });
  }

  void for_each_subject(std::vector<Outcome>& found, const CheckInfo& check, DeviceCheck run) {
    for (const RdmaDevice& device : node_.devices) {
      one(found, check, {.device = &device}, [&](Probe& probe) { run(probe, device); });
    }
    if (found.empty()) none(found, check, "this node has no RDMA device");
  }

  void for_each_subject(std::vector<Outcome>& found, const CheckInfo& check, FunctionCheck run) {
    for (const RdmaDevice& device : node_.devices) {
      one(found, check, {.device = &device}, [&](Probe& probe) {
        device.physical() ? run(probe, device.pci) : probe.skip(std::string(kNoFunction));
      });
    }
    if (found.empty()) none(found, check, "this node has no RDMA device");
  }

  void for_each_subject(std::vector<Outcome>& found, const CheckInfo& check, PortCheck run) {
    for (const RdmaDevice& device : node_.devices) {
      for (const RdmaPort& port : device.ports) {
        one(found, check, {.device = &device, .port = &port},
            [&](Probe& probe) { run(probe, port); });
      }
    }
    if (found.empty()) none(found, check, "this node has no RDMA port");
  }

  void for_each_subject(std::vector<Outcome>& found, const CheckInfo& check, GpuCheck run) {
    for (const Gpu& gpu : node_.gpus) {
      one(found, check, {.gpu = &gpu}, [&](Probe& probe) { run(probe, gpu); });
    }
    if (found.empty()) none(found, check, "this node has no GPU");
  }

  void none(std::vector<Outcome>& found, const CheckInfo& check, const char* reason) {
    one(found, check, {}, [&](Probe& probe) { probe.skip(reason); });
  }

  /// Of a finding on `subject` that is as bad as `worst`: null if none of them can be. Where a
  /// cause is looked for on several subjects, all have to have it.
  Outcome* cause_of(const Subject& subject, Status worst) {
    for (std::vector<Outcome>* const found : causes_) {
      Outcome* bad = nullptr;
      bool good = false;
      for (Outcome& outcome : *found) {
        if (!outcome.subject.touches(subject)) continue;
        Outcome& root = outcome.cause != nullptr ? *outcome.cause : outcome;
        const Status status = root.finding.status;
        const bool is_bad = root.unknown || status == Status::fail ||
                            (worst == Status::warn && status == Status::warn);
        if (is_bad && bad == nullptr) bad = &root;
        good = good || (!is_bad && outcome.finding.status != Status::skip);
      }
      if (bad != nullptr && !good) return bad;
    }
    return nullptr;
  }

  template <class Run>
  void one(std::vector<Outcome>& found, const CheckInfo& check, const Subject& subject, Run run) {
    Probe probe(tree_, node_, expectations_, check, subject.name());
    const std::string_view unused = subject.unused();
    Outcome* cause = unused.empty() ? cause_of(subject, Status::fail) : nullptr;
    if (!unused.empty()) {
      const bool whole = !subject.device->unused.empty();
      const Subject of{.device = subject.device, .port = whole ? nullptr : subject.port};
      probe.skip(fmt::format("{} is not judged: {}", of.words(), unused), Skipped::unused);
    } else if (cause == nullptr) {
      try {
        run(probe);
      } catch (const std::exception& failure) {
        probe.error(failure.what());
      }
      if (probe.status() == Status::warn) cause = cause_of(subject, Status::warn);
    }
    if (cause != nullptr) {
      const Finding& of = cause->finding;
      probe.skip(cause->unknown
                     ? fmt::format("{} of {} is unknown", of.id, cause->subject.words())
                     : fmt::format("{} {}", cause->subject.words(), find_check(of.id)->as_cause),
                 Skipped::symptom);
      cause->has_symptoms = true;
    }
    const bool unknown = probe.unknown();
    found.push_back({probe.take(), subject, unknown, cause});
  }

  const FileTree& tree_;
  const Expectations& expectations_;
  Inventory node_;
  std::vector<std::vector<Outcome>> outcomes_;  ///< of each check
  std::vector<std::vector<Outcome>*> causes_;   ///< of what the check that runs rests on
};

bool is_wanted(const CheckInfo& check, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& name) {
           return name == check.id || name == check.group();
         });
}

void refuse_unknown(const std::vector<std::string>& only) {
  for (const std::string& name : only) {
    std::vector<std::string_view> groups;
    bool known = false;
    for (const CheckInfo& check : checks()) {
      known = known || name == check.id || name == check.group();
      if (std::ranges::find(groups, check.group()) == groups.end()) groups.push_back(check.group());
    }
    if (known) continue;
    throw Error(
        Fault::usage, fmt::format("'{}' is neither a check nor a group of checks", name),
        fmt::format("Groups are {}; docs/doctor.md has the checks.", fmt::join(groups, ", ")));
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
  diagnosis.devices = runner.devices();
  const auto& all = all_checks();
  const auto wanted = [&](std::size_t place) { return is_wanted(*all[place], options.only); };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (wanted(i)) runner.outcomes_of(i);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (Outcome& outcome : runner.outcomes()[i]) {
      if (wanted(i) || outcome.has_symptoms)
        diagnosis.findings.push_back(std::move(outcome.finding));
    }
  }
  return diagnosis;
}

}  // namespace rdmabench::inline v1::health

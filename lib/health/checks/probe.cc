#include <algorithm>
#include <cerrno>
#include <utility>

#include "check.h"
#include "rdmabench/base/error.h"
#include "results/text_table.h"
#include "variables.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::size_t kMostEvidence = 32;
constexpr std::size_t kMostText = 300;  // quoted from a file

/// Replaces bytes that could disturb a terminal or a document.
std::string quotable(std::string text) {
  if (text.size() > kMostText) text = text.substr(0, kMostText) + "...";
  return report::terminal_safe(text);
}

}  // namespace

Probe::Probe(const FileTree& tree, const Inventory& node, const Expectations& expectations,
             const CheckInfo& check, std::string subject)
    : tree_(tree), node_(node), expectations_(expectations), check_(check) {
  finding_.id = check.id;
  finding_.subject = std::move(subject);
  finding_.reason = "the check gave no result";
}

void Probe::has_read(const std::string& path) {
  std::vector<std::string>& evidence = finding_.evidence;
  const bool known = std::find(evidence.begin(), evidence.end(), path) != evidence.end();
  if (!known && evidence.size() < kMostEvidence) evidence.push_back(path);
}

FileBytes Probe::read(const std::string& path) {
  FileBytes file = tree_.read(path);
  if (file.error != ENOENT) has_read(path);
  return file;
}

std::optional<std::string> Probe::text(const std::string& path) {
  FileBytes file = read(path);
  if (file.error == 0) return std::move(file.bytes);
  if (file.error == ENOENT) {
    skip(
        "there is no such file");  // many at once are told together, so the name is in the evidence
    finding_.evidence.push_back(path);
  } else if (file.error == EACCES || file.error == EPERM) {
    skip("no permission to read it: run as root");
  } else {
    skip(fmt::format("{} cannot be read: {}", path, errno_text(file.error)));
  }
  finding_.skipped = Skipped::unread;
  unknown_ = file.error != ENOENT;
  return std::nullopt;
}

std::optional<std::string> Probe::line(const std::string& path) {
  auto whole = text(path);
  if (!whole) return std::nullopt;
  return one_line(*whole);
}

std::optional<std::uint64_t> Probe::number(const std::string& path) {
  const auto read_line = line(path);
  if (!read_line) return std::nullopt;
  const auto value = to_number(*read_line);
  if (!value) error(fmt::format("{} holds no whole number but '{}'", path, *read_line));
  return value;
}

std::string Probe::try_text(const std::string& path) {
  FileBytes file = read(path);
  return file.error == 0 ? std::move(file.bytes) : "";
}

std::string Probe::try_line(const std::string& path) {
  return one_line(try_text(path));
}

std::optional<std::uint64_t> Probe::try_number(const std::string& path) {
  return to_number(try_line(path));
}

void Probe::expect(std::string text, Source source) {
  finding_.expected = std::move(text);
  finding_.source = source;
}

void Probe::judge(Status status, std::string_view remedy, std::string reason) {
  unknown_ = false;
  finding_.status = status;
  finding_.skipped = status != Status::skip        ? Skipped::none
                     : reason == kNothingToCompare ? Skipped::no_expectation
                                                   : Skipped::inapplicable;
  finding_.reason = std::move(reason);
  finding_.remedy.clear();
  if (status == Status::warn || status == Status::fail) {
    finding_.remedy = remedy.empty() ? check_.remedy : remedy;
  }
}

void Probe::judge_by(bool good, Status bad, std::string_view remedy) {
  judge(good ? Status::pass : bad, remedy);
}

void Probe::judge_by(bool good, Status bad, std::string observed, std::string expected,
                     Source source, std::string_view remedy) {
  observe(std::move(observed));
  expect(std::move(expected), source);
  judge_by(good, bad, remedy);
}

void Probe::compare(std::string_view key, const std::string& observed, Status bad) {
  const Expectation* const wanted = expectation(key);
  observe(observed);
  if (wanted == nullptr) return skip(std::string(kNothingToCompare));
  expect(wanted->value, wanted->source);
  bool found = false;
  for (const std::string_view one : split(wanted->value, ',')) {
    found = found || trimmed(one) == observed;
  }
  judge_by(found || wanted->value == observed, bad);
}

Finding Probe::take() {
  finding_.reason = quotable(std::move(finding_.reason));
  finding_.observed = quotable(std::move(finding_.observed));
  finding_.expected = quotable(std::move(finding_.expected));
  finding_.remedy = report::terminal_safe(finding_.remedy);
  for (std::string& path : finding_.evidence) path = report::terminal_safe(path);
  finding_.subject = report::terminal_safe(finding_.subject);
  return std::move(finding_);
}

std::optional<double> uptime_s(Probe& probe) {
  return leading_number(probe.try_line("proc/uptime"));
}

bool kernel_is(Probe& probe, std::uint64_t major, std::uint64_t minor) {
  const std::string release = probe.try_line("proc/sys/kernel/osrelease");
  const std::size_t dot = release.find('.');
  const auto own_major = to_number(release.substr(0, dot));
  if (!own_major || dot == std::string::npos) return false;
  const auto own_minor = leading_number(std::string_view(release).substr(dot + 1));
  if (!own_minor) return false;
  // A minor release is followed by a dot, which leading_number() would read as a fraction.
  const auto whole_minor = static_cast<std::uint64_t>(*own_minor);
  return *own_major > major || (*own_major == major && whole_minor >= minor);
}

std::string link_of_function(const PciFunction& function) {
  return function.above.empty() ? function.slot() : function.above.back().address;
}

std::vector<const RdmaDevice*> halves_of(const Inventory& node, const RdmaDevice& device) {
  const auto whole = [](const RdmaDevice& one) {
    return one.physical() && one.parent.empty() && !one.card.empty();
  };
  if (!whole(device) || node.virtual_machine) return {&device};  // there virtual ones do not show
  std::vector<const RdmaDevice*> halves;
  for (const RdmaDevice& other : node.devices) {
    // Functions of one number carry one port.
    const bool half = whole(other) && other.card == device.card &&
                      other.pci.address.back() == device.pci.address.back() &&
                      link_of_function(other.pci) != link_of_function(device.pci);
    if (&other == &device || half) halves.push_back(&other);
  }
  return halves;
}

const std::vector<Gid>& gids_of(Probe& probe, const RdmaPort& port) {
  if (!port.gids.empty()) probe.has_read(port.folder + "/gids");
  return port.gids;
}

std::optional<std::string> environment(Probe& probe, std::string_view name) {
  return variable(name, [&](const char* path) { return probe.try_text(path); });
}

std::string ethernet_file(const RdmaPort& port) {
  return "rdmabench/ethernet/" + port.interface;
}

std::optional<std::string> ethernet_fact(Probe& probe, const RdmaPort& port, std::string_view key) {
  if (port.interface.empty()) {
    probe.skip("no network device belongs to the port");
    return std::nullopt;
  }
  const auto text = probe.text(ethernet_file(port));
  if (!text) return std::nullopt;
  std::string found = value_after(*text, key);
  if (!found.empty()) return found;
  if (probe.exists("sys/class/net/" + port.interface + "/bonding")) {
    probe.skip("it is a bond, whose ports are not looked at");
  } else {
    probe.skip(key == "module" ? "the driver does not report it, or only to root"
                               : "the driver does not report it");
  }
  return std::nullopt;
}

std::string value_of_word(std::string_view line, std::string_view key) {
  for (const std::string& word : words_of(line)) {
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') {
      return word.substr(key.size() + 1);
    }
  }
  return "";
}

}  // namespace rdmabench::inline v1::health

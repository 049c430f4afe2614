#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rdmabench/health/doctor.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::health {
namespace {

constexpr std::size_t kLongestLine = 240;  // node-problem-detector's max_output_length

/// Of printable text: its first bytes, and "..." where there are more.
std::string cut(const std::string& text, std::size_t most) {
  constexpr std::string_view kMark = "...";
  if (text.size() <= most) return text;
  return text.substr(0, most - std::min(most, kMark.size())).append(kMark);
}

/// A finding that is not PASS, with its remedy. What is wrong stands in its first line: a value
/// alone says that only beside the one that was expected.
std::string block(const Finding& finding, const std::string& subjects) {
  constexpr std::size_t kLongestValue = 40;
  const std::string expected = finding.expected.empty()
                                   ? ""
                                   : fmt::format("{} ({})", finding.expected, name(finding.source));
  const bool is_value = finding.observed.size() <= kLongestValue && !expected.empty();
  std::string text =
      fmt::format("{:5} {}  {}: {}{}{}{}\n", name(finding.status), finding.id, subjects,
                  find_check(finding.id)->title, finding.observed.empty() ? "" : ": ",
                  finding.observed, is_value ? ", expected " + expected : "");
  const auto add = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) text += fmt::format("      {:9} {}\n", label, value);
  };
  add("reason", finding.reason);
  if (!is_value) add("expected", expected);
  add("action", std::string(action_of(finding)));
  add("remedy", finding.remedy);
  std::string files;
  constexpr std::size_t kMostFiles = 4;
  for (std::size_t i = 0; i < finding.evidence.size() && i < kMostFiles; ++i) {
    files += fmt::format("{}{}", i == 0 ? "" : " ", finding.evidence[i]);
  }
  if (finding.evidence.size() > kMostFiles) {
    files += fmt::format(" and {} more", finding.evidence.size() - kMostFiles);
  }
  add("read", files);
  return text;
}

std::string line(const Finding& finding) {
  return fmt::format("{:5} {}  {}: {}\n", name(finding.status), finding.id, finding.subject,
                     finding.observed);
}

/// Skipped checks grouped by reason, because one missing file may skip many. Observed values are
/// listed too.
std::string skipped(const Diagnosis& diagnosis) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.status != Status::skip) continue;
    std::vector<std::string>& list = by_reason[finding.reason];
    if (list.empty()) order.push_back(finding.reason);
    std::string entry = finding.id;
    if (finding.subject != "node") entry += fmt::format(" {}", finding.subject);
    if (!finding.observed.empty()) entry += fmt::format(" ({})", finding.observed);
    list.push_back(std::move(entry));
  }
  std::string text;
  for (const std::string& reason : order) {
    text += fmt::format("SKIP  {}\n", reason);
    std::string row;
    constexpr std::size_t kWidth = report::kUsualWidth;
    for (const std::string& entry : by_reason[reason]) {
      if (!row.empty() && row.size() + entry.size() + 2 > kWidth) {
        text += row + ",\n";
        row.clear();
      }
      row += (row.empty() ? "      " : ", ") + entry;
    }
    text += row + '\n';
  }
  return text;
}

/// Whether one block can tell of both.
bool same_fault(const Finding& one, const Finding& other) {
  return one.id == other.id && one.status == other.status && one.observed == other.observed &&
         one.expected == other.expected && one.remedy == other.remedy && one.reason == other.reason;
}

/// The FAIL, ERROR and WARN; alike ones in one block unless each is asked for.
std::string faults(const Diagnosis& diagnosis, bool each) {
  constexpr std::size_t kMostSubjects = 8;
  std::string text;
  for (const Status status : {Status::fail, Status::error, Status::warn}) {
    std::vector<const Finding*> left;
    for (const Finding& finding : diagnosis.findings) {
      if (finding.status == status) left.push_back(&finding);
    }
    while (!left.empty()) {
      const Finding& first = *left.front();
      const auto alike = std::stable_partition(left.begin(), left.end(), [&](const Finding* other) {
        return each ? other != &first : !same_fault(first, *other);
      });
      std::string subjects;
      const auto count = static_cast<std::size_t>(left.end() - alike);
      for (std::size_t i = 0; i < std::min(count, kMostSubjects); ++i) {
        subjects += (i == 0 ? "" : ", ") + alike[static_cast<std::ptrdiff_t>(i)]->subject;
      }
      if (count > kMostSubjects) subjects += fmt::format(" and {} more", count - kMostSubjects);
      text += block(first, subjects) + '\n';
      left.erase(alike, left.end());
    }
  }
  return text;
}

/// What nobody can do anything about on this node is only a number.
std::string skipped_in_short(const Diagnosis& diagnosis) {
  constexpr std::size_t kMostLines = 6;
  std::vector<std::string> unused;
  std::map<std::string, std::size_t> unread;
  std::map<Skipped, std::size_t> count;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.status != Status::skip) continue;
    ++count[finding.skipped];
    if (finding.skipped == Skipped::unread) ++unread[finding.reason];
    if (finding.skipped == Skipped::unused &&
        std::find(unused.begin(), unused.end(), finding.reason) == unused.end())
      unused.push_back(finding.reason);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(unused.size(), kMostLines); ++i) text += unused[i] + '\n';
  if (unused.size() > kMostLines) {
    text += fmt::format("and {} more are not judged\n", unused.size() - kMostLines);
  }
  if (!unused.empty()) text += '\n';
  const auto add = [&](std::size_t number, std::string_view why) {
    if (number > 0) text += fmt::format("SKIP  {:4}  {}\n", number, why);
  };
  add(count[Skipped::symptom], "follow from what is above");
  std::size_t others = 0;
  std::size_t lines = 0;
  for (const auto& [reason, number] : unread) {
    if (++lines <= kMostLines) {
      add(number, reason);
    } else {
      others += number;
    }
  }
  add(others, "cannot be read for other reasons");
  add(count[Skipped::no_expectation],
      "have nothing to compare with: give --expect, --profile or --peers");
  add(count[Skipped::unused], "are of what is not judged");
  add(count[Skipped::inapplicable], "do not apply to this node; --all shows them");
  return text;
}

/// Behind what is said last: a node may pass every check that applies to it and have no RDMA.
std::string_view without_rdma(const Diagnosis& diagnosis) {
  return diagnosis.devices == std::size_t{0} ? "; this node has no RDMA device" : "";
}

}  // namespace

std::string to_text(const Diagnosis& diagnosis, bool all) {
  std::string text = faults(diagnosis, all);
  if (all) {
    bool any = false;
    for (const Finding& finding : diagnosis.findings) {
      if (finding.status != Status::pass) continue;
      text += line(finding);
      any = true;
    }
    if (any) text += '\n';
  }
  const std::string unread = all ? skipped(diagnosis) : skipped_in_short(diagnosis);
  if (!unread.empty()) text += unread + '\n';
  const Tally tally = diagnosis.tally();
  const std::string host = diagnosis.host.empty() ? diagnosis.root : diagnosis.host;
  return text + fmt::format("{}: {} FAIL, {} WARN, {} PASS, {} SKIP, {} ERROR{}\n",
                            report::terminal_safe(host), tally.fail, tally.warn, tally.pass,
                            tally.skip, tally.error, without_rdma(diagnosis));
}

std::string to_line(const Diagnosis& diagnosis) {
  const Tally tally = diagnosis.tally();
  if (!tally.failed()) {
    const std::string warn = tally.warn > 0 ? fmt::format(" {} WARN,", tally.warn) : "";
    return fmt::format("{} checks passed,{} {} skipped, none failed{}\n", tally.pass, warn,
                       tally.skip, without_rdma(diagnosis));
  }
  const auto& all = diagnosis.findings;
  const auto has = [&](Status status) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Finding& one) { return one.status == status; });
  };
  const Finding& first = tally.fail > 0 ? *has(Status::fail) : *has(Status::error);
  const std::string_view action = action_of(first);
  const std::string head = fmt::format("{} {} {}{}: ", name(first.status), first.id, first.subject,
                                       action.empty() ? "" : fmt::format(", {}", action));
  std::string observed = first.observed.empty() ? first.reason : first.observed;
  if (!first.expected.empty()) observed += fmt::format(", expected {}", first.expected);
  const std::string remedy = first.remedy.empty() ? "" : "; " + first.remedy;
  const std::uint32_t more = tally.fail + tally.error - 1;
  const std::string others = more > 0 ? fmt::format(" And {} more", more) : "";
  // What was observed gives way to the remedy, as far as a reader still knows what it is.
  const auto room = [&](std::size_t taken) { return kLongestLine - std::min(kLongestLine, taken); };
  constexpr std::size_t kLeast = 60;
  observed = cut(observed, std::max(kLeast, room(head.size() + remedy.size() + others.size() + 1)));
  const std::string text = cut(head + observed + remedy, room(others.size() + 1));
  return report::terminal_safe(text + others) + '\n';
}

}  // namespace rdmabench::inline v1::health

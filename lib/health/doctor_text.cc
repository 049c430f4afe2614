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

/// A finding that is not PASS, with its remedy.
std::string block(const Finding& finding) {
  std::string text = fmt::format("{:5} {}  {}: {}\n", name(finding.status), finding.id,
                                 finding.subject, find_check(finding.id)->title);
  const auto add = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) text += fmt::format("      {:9} {}\n", label, value);
  };
  add("reason", finding.reason);
  add("observed", finding.observed);
  add("expected", finding.expected.empty()
                      ? ""
                      : fmt::format("{} ({})", finding.expected, name(finding.source)));
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

}  // namespace

std::string to_text(const Diagnosis& diagnosis, bool all) {
  std::string text;
  for (const Status status : {Status::fail, Status::error, Status::warn}) {
    for (const Finding& finding : diagnosis.findings) {
      if (finding.status == status) text += block(finding) + '\n';
    }
  }
  if (all) {
    bool any = false;
    for (const Finding& finding : diagnosis.findings) {
      if (finding.status != Status::pass) continue;
      text += line(finding);
      any = true;
    }
    if (any) text += '\n';
  }
  const std::string unread = skipped(diagnosis);
  if (!unread.empty()) text += unread + '\n';
  const Tally tally = diagnosis.tally();
  const std::string host = diagnosis.host.empty() ? diagnosis.root : diagnosis.host;
  return text + fmt::format("{}: {} FAIL, {} WARN, {} PASS, {} SKIP, {} ERROR\n",
                            report::terminal_safe(host), tally.fail, tally.warn, tally.pass,
                            tally.skip, tally.error);
}

std::string to_line(const Diagnosis& diagnosis) {
  const Tally tally = diagnosis.tally();
  if (!tally.failed()) {
    return fmt::format("{} checks passed, {} skipped, none failed\n", tally.pass, tally.skip);
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

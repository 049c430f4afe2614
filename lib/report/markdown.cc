#include "rdmabench/report/documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "digest.h"
#include "rdmabench/report/text_table.h"

namespace rdmabench::report {
namespace {

using Cells = std::vector<std::string>;

/// A table, whose cells it escapes.
class Table {
 public:
  /// Of numbers all columns but the first are aligned to the right.
  explicit Table(Cells heads, bool numbers = false)
      : heads_(std::move(heads)), rule_(heads_.size(), numbers ? "---:" : "---") {
    if (!rule_.empty()) rule_[0] = "---";
  }
  void add(Cells cells) { rows_.push_back(std::move(cells)); }

  std::string text() const {
    if (rows_.empty()) return "";
    std::string text = line(heads_) + line(rule_);
    const std::size_t shown = std::min(rows_.size(), kMarkdownRows);
    for (std::size_t i = 0; i < shown; ++i) text += line(rows_[i]);
    if (shown < rows_.size()) {
      text += fmt::format("\n{} more rows are left out.\n", rows_.size() - shown);
    }
    return text + "\n";
  }

 private:
  static std::string line(const Cells& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += fmt::format(" {} |", escaped_for_markdown(cell));
    return text + "\n";
  }

  Cells heads_;
  Cells rule_;
  std::vector<Cells> rows_;
};

std::string cell(double value, std::string (*text)(double)) {
  return std::isfinite(value) ? text(value) : "-";
}

std::string summary(const std::vector<Judgement>& list) {
  std::map<Status, std::size_t> counts;
  for (const Judgement& one : list) ++counts[one.outcome];
  std::string text;
  for (const Status outcome :
       {Status::fail, Status::error, Status::warn, Status::open, Status::skip, Status::pass}) {
    if (counts[outcome] == 0) continue;
    text += fmt::format("{}**{} {}**", text.empty() ? "" : ", ", counts[outcome], word(outcome));
  }
  return text.empty() ? "" : text + "\n\n";
}

std::string findings(const std::vector<Judgement>& list) {
  Table table({"status", "what", "where", "why", "remedy"});
  for (const Status outcome : {Status::fail, Status::error, Status::warn, Status::open}) {
    for (const Judgement& one : list) {
      if (one.outcome != outcome) continue;
      table.add({word(outcome), one.id, one.subject, one.text, one.remedy});
    }
  }
  return table.text();
}

/// "p99 (unsupported)" is told apart, because a repetition may give quite another.
std::string percentile(const Json& row, const char* key) {
  for (const Json& one : list_of(row, "unsupported_percentiles")) {
    if (one == key) return "-";
  }
  return cell(number_of(row, key), time_text);
}

/// The median; of what another tool measured often only a mean is known.
std::string typical(const Json& row) {
  const double mean = number_of(row, "mean_ns");
  const bool only_mean = !std::isfinite(number_of(row, "p50_ns")) && std::isfinite(mean);
  return only_mean ? "mean " + time_text(mean) : percentile(row, "p50_ns");
}

std::string run_table(const Document& document) {
  const std::string test = text_of(document.body, "test");
  const bool bandwidth = test == "bandwidth";
  const bool load = test == "load";
  Cells heads{"operation", "size"};
  if (load) heads.insert(heads.end(), {"load", "messages/s"});
  if (bandwidth) {
    heads.insert(heads.end(), {"bandwidth", "messages/s", "completion"});
  } else {
    heads.insert(heads.end(), {"p50", "p99", "p99.9", "max"});
  }
  Table table(heads);
  for (const Json& row : list_of(document.body, "results")) {
    Cells cells{text_of(row, "operation"), size_text(number_of(row, "size_bytes"))};
    if (load) {
      const bool doubtful = row.contains("knee_reliable") && !flag_of(row, "knee_reliable");
      cells.push_back(fmt::format("{:.0f} %{}", number_of(row, "load") * 100,
                                  !flag_of(row, "knee") ? doubtful ? " (not reliable)" : ""
                                  : doubtful            ? " (knee, not reliable)"
                                                        : " (knee)"));
      cells.push_back(fmt::format("{:.4g}", number_of(row, "achieved_messages_per_s")));
    }
    if (bandwidth) {
      cells.push_back(cell(number_of(row, "bits_per_s"), rate_text));
      cells.push_back(cell(number_of(row, "messages_per_s"),
                           [](double rate) { return fmt::format("{:.4g}", rate); }));
      cells.push_back(text_of(row, "completion"));
    } else {
      cells.push_back(typical(row));
      for (const char* key : {"p99_ns", "p999_ns"}) {
        cells.push_back(percentile(row, key));
      }
      cells.push_back(cell(number_of(row, "max_ns"), time_text));
    }
    table.add(std::move(cells));
  }
  const Json& resolved = object_of(document.body, "resolved");
  std::string over;
  for (const char* key : {"backend", "provider", "device"}) {
    const std::string word = escaped_for_markdown(text_of(resolved, key));
    if (!word.empty()) over += (over.empty() ? " over " : ", ") + word;
  }
  return escaped_for_markdown(test) + over + "\n\n" + table.text();
}

/// Details, folded by those who can.
std::string folded(const std::string& heading, const std::string& text) {
  if (text.empty()) return "";
  return fmt::format("<details><summary>{}</summary>\n\n{}</details>\n\n", heading, text);
}

std::string notes_text(const Json& body) {
  std::string text;
  for (const Json& one : list_of(body, "notes")) {
    text += fmt::format("- {}\n", escaped_for_markdown(any_text(one)));
  }
  return text.empty() ? "" : text + "\n";
}

/// "+12.30 %"; in times where `typical` is half, double or beyond.
std::string change_text(double ratio, double typical) {
  if (!std::isfinite(ratio)) return "-";
  if (typical >= 2 || typical <= 0.5) return fmt::format("{:.3g} times", ratio);
  return fmt::format("{:+.2f} %", 100 * (ratio - 1));
}

std::string comparison_table(const Document& document) {
  const Json& body = document.body;
  Table table({"what", "size", side_name(body, "a"), side_name(body, "b"), "change", "interval",
               "verdict"});
  for_each_measured(document, [&](const Measured& measured) {
    std::map<std::string_view, std::string> labels(measured.labels.begin(), measured.labels.end());
    std::map<std::string_view, double> values(measured.values.begin(), measured.values.end());
    const bool known = values.count("ratio") != 0;
    const auto value = [&](std::string_view side) {
      if (values.count(side) == 0) return std::string("-");
      return labels["unit"] == "ns" ? time_text(values[side]) : rate_text(values[side]);
    };
    std::string size = labels["size_bytes"];
    if (!labels["load"].empty()) size += " load " + labels["load"];
    table.add({labels["operation"] + " " + labels["metric"], size, value("a"), value("b"),
               known ? change_text(values["ratio"], values["ratio"]) : "-",
               known ? fmt::format("{} to {}", change_text(values["ratio_low"], values["ratio"]),
                                   change_text(values["ratio_high"], values["ratio"]))
                     : "-",
               verdict_text(labels["verdict"], labels["direction"])});
  });
  std::string text;
  const std::string verdict = text_of(body, "verdict");
  const std::string stands = text_of(body, "as_they_stand");
  if (text_of(body, "summary").empty() && !verdict.empty()) {
    text += fmt::format("Verdict: **{}**", escaped_for_markdown(verdict));
    if (!stands.empty() && stands != verdict) {
      text += fmt::format(", as they stand {}", escaped_for_markdown(stands));
    }
    text += "\n\n";
  }
  const Json& plan = object_of(body, "plan");
  if (!plan.empty()) {
    const std::string launches = any_text_of(plan, "launches_per_side");
    text += fmt::format(
        "Plan: **{}** launches of each side\n\n",
        launches.empty() ? "more than are planned for" : escaped_for_markdown(launches));
  }
  Table differ({"fact", side_name(body, "a"), side_name(body, "b"), "declared"});
  for (const Json& one : list_of(body, "confounds")) {
    differ.add({text_of(one, "name"), any_text_of(one, "a"), any_text_of(one, "b"),
                flag_of(one, "declared") ? "yes" : "no"});
  }
  return text + table.text() +
         folded("What else differs, and notes", differ.text() + notes_text(body));
}

/// How long the step of the first row is with no overlap and with all that there can be.
std::string overlap_bounds(const Json& body) {
  for (const Json& row : list_of(body, "rows")) {
    Table table({"at " + number_text(row, "value"), "nothing hidden", "all hidden that can be"});
    for (const char* side : {"a", "b"}) {
      const Json& step = object_of(row, side);
      const double nothing = number_of(step, "nothing_hidden_s") * 1e9;
      if (!std::isfinite(nothing)) continue;
      table.add({side_name(body, side), time_text(nothing),
                 cell(number_of(step, "all_hidden_s") * 1e9, time_text)});
    }
    if (const std::string text = table.text(); !text.empty()) {
      return "Bounds by overlap:\n\n" + text;
    }
  }
  return "";
}

std::string projection_table(const Document& document) {
  const Json& body = document.body;
  const std::string axis = text_of(body, "axis");
  const std::string a = side_name(body, "a");
  const std::string b = side_name(body, "b");
  Table table({axis.empty() ? "at" : axis, a, b, "change", "verdict"});
  Table costs({axis.empty() ? "at" : axis, a, b});
  bool priced = false;
  for (const Json& row : list_of(body, "rows")) {
    const auto step = [&](const char* side) {
      return cell(number_of(object_of(row, side), "step_s") * 1e9, time_text);
    };
    const auto cost = [&](const char* side) {
      const double value = number_of(object_of(row, side), "cost_per_step");
      priced |= std::isfinite(value);
      return std::isfinite(value) ? fmt::format("{:.4g}", value) : "-";
    };
    const Json& difference = object_of(row, "difference");
    const std::string refusal = text_of(row, "refusal");
    const std::string at = number_text(row, "value");
    const double ratio = number_of(difference, "ratio");
    table.add({at, step("a"), step("b"), change_text(ratio, ratio),
               refusal.empty()
                   ? verdict_text(text_of(difference, "verdict"), text_of(difference, "direction"))
                   : refusal});
    if (refusal.empty()) costs.add({at, cost("a"), cost("b")});
  }
  std::string text = "Projected time of a step:\n\n" + table.text();
  if (priced) {
    text += "Cost of one step, in the currency of the prices per node and hour:\n\n" + costs.text();
  }
  Table assumptions({"assumption", "value", "from"});
  for (const Json& one : list_of(body, "assumptions")) {
    assumptions.add({text_of(one, "name"), any_text_of(one, "value") + " " + text_of(one, "unit"),
                     text_of(one, "origin")});
  }
  return text + overlap_bounds(body) +
         folded("Assumptions and notes", assumptions.text() + notes_text(body));
}

std::string fabric_table(const Document& document) {
  std::vector<NodeMedian> nodes = node_medians(document);
  const auto worst = [](const NodeMedian& node) {
    const double sender = relative(node.latency, node.as_sender, node.typical);
    const double receiver = relative(node.latency, node.as_receiver, node.typical);
    return sender == 0 ? receiver : receiver == 0 ? sender : std::min(sender, receiver);
  };
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](const NodeMedian& a, const NodeMedian& b) { return worst(a) < worst(b); });
  Table table({"node", "rail", "metric", "size", "as sender", "as receiver", "of typical"});
  for (const NodeMedian& node : nodes) {
    const auto text = [&](double value) {
      return value <= 0 ? "-" : node.latency ? time_text(value) : rate_text(value);
    };
    table.add({host_of(document, node.rank), rail_of(document, node.rank, node.rail),
               node.latency ? "latency" : "bandwidth", size_text(double(node.size_bytes)),
               text(node.as_sender), text(node.as_receiver),
               fmt::format("{:.0f} %", worst(node) * 100)});
  }
  return "Each node's medians, the worst first; 100 % is typical.\n\n" + table.text();
}

std::string coll_table(const Document& coll) {
  Table table({"operation", "type", "reduction", "size", "place", "p50", "algbw", "busbw", "wrong",
               "late"});
  for (const Json& row : list_of(coll.body, "results")) {
    if (!text_of(row, "skipped").empty()) continue;
    const double bus = number_of(row, "bus_bytes_per_s");
    const auto gigabytes = [](double rate) { return fmt::format("{:.4g} GB/s", rate / 1e9); };
    const Json& late = object_of(row, "late");
    const std::string group = text_of(row, "group");
    table.add({text_of(row, "operation") + (group.empty() ? "" : ", " + group),
               text_of(row, "type"), text_of(row, "reduction"),
               size_text(number_of(row, "size_bytes")), flag_of(row, "in_place") ? "in" : "out",
               typical(row), cell(number_of(row, "algorithm_bytes_per_s"), gigabytes),
               std::isfinite(bus) ? gigabytes(bus) : "n/a",
               any_text_of(object_of(row, "wrong"), "wrong_elements"),
               late.empty() ? "-"
                            : fmt::format("rank {} by {}", any_text_of(late, "rank"),
                                          time_text(number_of(late, "by_ns")))});
  }
  return table.text();
}

}  // namespace

std::string decision_text(const Json& body, std::size_t level) {
  const Json& page = object_of(body, "page");
  const std::string mark(level, '#');
  std::string text = fmt::format(
      "{} {}\n\n{}\n\n**{}**\n", mark, escaped_for_markdown(said(page, "question")),
      escaped_for_markdown(said(page, "subject")), escaped_for_markdown(said(page, "answer")));
  for (const Json& section : list_of(page, "sections")) {
    if (const std::string title = said(section, "title"); !title.empty()) {
      text += fmt::format("\n{}# {}\n", mark, escaped_for_markdown(title));
    }
    for (const Json& block : list_of(section, "blocks")) {
      if (const std::string sentence = said(block, "sentence"); !sentence.empty()) {
        text += fmt::format("\n{}\n", escaped_for_markdown(sentence));
      }
      const Json& page_table = object_of(block, "table");
      Table table(all_said(page_table, "heads"), !flag_of(page_table, "words"));
      for (const Json& row : list_of(page_table, "rows")) {
        Cells cells;
        for (const Json& one : row) cells.push_back(text_of(one, "text"));
        table.add(std::move(cells));
      }
      if (const std::string rows = table.text(); !rows.empty()) {
        text += '\n' + rows.substr(0, rows.size() - 1);
      }
      const Json& command = object_of(block, "command");
      if (!command.empty()) {
        text += fmt::format("\n{}\n\n    {}\n", escaped_for_markdown(said(command, "why")),
                            terminal_safe(text_of(command, "line")));
      }
      const std::vector<std::string> small = all_said(block, "small");
      if (!small.empty()) {
        text +=
            fmt::format("\n{}\n", escaped_for_markdown(fmt::format("{}", fmt::join(small, "; "))));
      }
    }
  }
  return text;
}

std::string to_markdown(std::span<const Document> documents) {
  std::string text = "# rdmabench report\n\n";
  for (const Document& document : documents) {
    const std::vector<Judgement> list = judgements(document);
    text += fmt::format("## {} ({})\n\n", escaped_for_markdown(document.source), document.schema);
    for (const std::string& note : document.notes) text += escaped_for_markdown(note) + "\n\n";
    std::string first = text_of(document.body, "summary");
    if (first.empty()) first = text_of(object_of(document.body, "verdict"), "summary");
    if (!first.empty()) text += fmt::format("**{}**\n\n", escaped_for_markdown(first));
    text += summary(list) + findings(list);
    if (document.schema == kRunSchema) text += run_table(document);
    if (document.schema == kCompareSchema) text += comparison_table(document);
    if (document.schema == kProjectSchema) text += projection_table(document);
    if (document.schema == kDecideSchema) text += decision_text(document.body, 3) + "\n";
    if (document.schema == kFabricSchema) text += fabric_table(document);
    if (document.schema == kCollSchema) text += coll_table(document);
  }
  return text;
}

std::string escaped_for_markdown(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]<>#|~&!";
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::string out;
  for (const char c : terminal_safe(line)) {
    if (kMarkup.find(c) != std::string_view::npos) out += '\\';
    out += c;
    if (c == '@') out += "\xe2\x80\x8b";
  }
  return out;
}

}  // namespace rdmabench::report

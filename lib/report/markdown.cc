#include "rdmabench/report/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "digest.h"
#include "fabric_nodes.h"
#include "rdmabench/report/text_table.h"

namespace rdmabench::report {
namespace {

using Json = nlohmann::ordered_json;
using Cells = std::vector<std::string>;

/// Every character that could begin markup is escaped; a line break would end a row of a table. A
/// zero-width space after an @ keeps a host's name from calling a person.
std::string escaped(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]<>#|~&!";
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::string out;
  for (const char c : printable(line)) {
    if (kMarkup.find(c) != std::string_view::npos) out += '\\';
    out += c;
    if (c == '@') out += "\xe2\x80\x8b";
  }
  return out;
}

/// A table whose cells are escaped already.
class Table {
 public:
  explicit Table(Cells heads) : heads_(std::move(heads)) {}
  void add(Cells cells) { rows_.push_back(std::move(cells)); }

  std::string text() const {
    if (rows_.empty()) return "";
    std::string text = line(heads_) + line(Cells(heads_.size(), "---"));
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
    for (const std::string& cell : cells) text += fmt::format(" {} |", cell);
    return text + "\n";
  }

  Cells heads_;
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
       {Status::fail, Status::error, Status::warn, Status::skip, Status::pass}) {
    if (counts[outcome] == 0) continue;
    text += fmt::format("{}**{} {}**", text.empty() ? "" : ", ", counts[outcome], name(outcome));
  }
  return text.empty() ? "" : text + "\n\n";
}

std::string findings(const std::vector<Judgement>& list) {
  Table table({"status", "what", "where", "why", "remedy"});
  for (const Status outcome : {Status::fail, Status::error, Status::warn}) {
    for (const Judgement& one : list) {
      if (one.outcome != outcome) continue;
      table.add({std::string(name(outcome)), escaped(one.id), escaped(one.subject),
                 escaped(one.text), escaped(one.remedy)});
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
    Cells cells{escaped(text_of(row, "operation")), size_text(number_of(row, "size_bytes"))};
    if (load) {
      cells.push_back(fmt::format("{:.0f} %{}", number_of(row, "load") * 100,
                                  flag_of(row, "knee") ? " (knee)" : ""));
      cells.push_back(fmt::format("{:.4g}", number_of(row, "achieved_messages_per_s")));
    }
    if (bandwidth) {
      cells.push_back(cell(number_of(row, "bits_per_s"), rate_text));
      cells.push_back(fmt::format("{:.4g}", number_of(row, "messages_per_s")));
      cells.push_back(escaped(text_of(row, "completion")));
    } else {
      for (const char* key : {"p50_ns", "p99_ns", "p999_ns"}) {
        cells.push_back(percentile(row, key));
      }
      cells.push_back(cell(number_of(row, "max_ns"), time_text));
    }
    table.add(std::move(cells));
  }
  const Json& resolved = object_of(document.body, "resolved");
  std::string over;
  for (const char* key : {"backend", "provider", "device"}) {
    const std::string word = escaped(text_of(resolved, key));
    if (!word.empty()) over += (over.empty() ? " over " : ", ") + word;
  }
  return escaped(test) + over + "\n\n" + table.text();
}

std::string comparison_table(const Document& document) {
  Table table({"what", "size", "B/A", "interval", "verdict"});
  for_each_measured(document, [&](const Measured& measured) {
    std::map<std::string_view, std::string> labels(measured.labels.begin(), measured.labels.end());
    std::map<std::string_view, double> values(measured.values.begin(), measured.values.end());
    const bool known = values.count("ratio") != 0;
    table.add(
        {escaped(labels["operation"] + " " + labels["metric"]), escaped(labels["size_bytes"]),
         known ? fmt::format("{:.4f}", values["ratio"]) : "-",
         known ? fmt::format("{:.4f} to {:.4f}", values["ratio_low"], values["ratio_high"]) : "-",
         escaped(labels["verdict"])});
  });
  const std::string verdict = text_of(document.body, "verdict");
  const std::string stands = text_of(document.body, "as_they_stand");
  std::string text;
  if (!verdict.empty()) text += fmt::format("Verdict: **{}**", escaped(verdict));
  if (!stands.empty() && stands != verdict)
    text += fmt::format(", as they stand {}", escaped(stands));
  const Json& plan = object_of(document.body, "plan");
  if (!plan.empty()) {
    const std::string launches = any_text_of(plan, "launches_per_side");
    text += fmt::format("Plan: **{}** launches of each side",
                        launches.empty() ? "more than are planned for" : escaped(launches));
  }
  return text + "\n\n" + table.text();
}

std::string projection_table(const Document& document) {
  const std::string axis = escaped(text_of(document.body, "axis"));
  Table table({axis.empty() ? "at" : axis, "A", "B", "B/A", "verdict"});
  for (const Json& row : list_of(document.body, "rows")) {
    const auto step = [&](const char* side) {
      return cell(number_of(object_of(row, side), "step_s") * 1e9, time_text);
    };
    const Json& difference = object_of(row, "difference");
    const std::string refusal = text_of(row, "refusal");
    const double ratio = number_of(difference, "ratio");
    table.add({escaped(any_text_of(row, "value")), step("a"), step("b"),
               std::isfinite(ratio) ? fmt::format("{:.4f}", ratio) : "-",
               escaped(refusal.empty() ? text_of(difference, "verdict") : refusal)});
  }
  std::string text = "Projected time of a step:\n\n" + table.text();
  Table assumptions({"assumption", "value", "from"});
  for (const Json& one : list_of(document.body, "assumptions")) {
    assumptions.add({escaped(text_of(one, "name")),
                     escaped(any_text_of(one, "value") + " " + text_of(one, "unit")),
                     escaped(text_of(one, "origin"))});
  }
  return text + assumptions.text();
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
    table.add(
        {escaped(host_of(document, node.rank)), escaped(rail_of(document, node.rank, node.rail)),
         node.latency ? "latency" : "bandwidth", size_text(double(node.size_bytes)),
         text(node.as_sender), text(node.as_receiver), fmt::format("{:.0f} %", worst(node) * 100)});
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
    table.add({escaped(text_of(row, "operation")), escaped(text_of(row, "type")),
               escaped(text_of(row, "reduction")), size_text(number_of(row, "size_bytes")),
               flag_of(row, "in_place") ? "in" : "out", time_text(number_of(row, "p50_ns")),
               gigabytes(number_of(row, "algorithm_bytes_per_s")),
               std::isfinite(bus) ? gigabytes(bus) : "n/a",
               escaped(any_text_of(object_of(row, "wrong"), "wrong_elements")),
               late.empty() ? "-"
                            : fmt::format("rank {} by {}", escaped(any_text_of(late, "rank")),
                                          time_text(number_of(late, "by_ns")))});
  }
  return table.text();
}

}  // namespace

std::string to_markdown(std::span<const Document> documents) {
  std::string text = "# rdmabench report\n\n";
  for (const Document& document : documents) {
    const std::vector<Judgement> list = judgements(document);
    text += fmt::format("## {} ({})\n\n", escaped(document.source), document.schema);
    for (const std::string& note : document.notes) text += escaped(note) + "\n\n";
    text += summary(list) + findings(list);
    if (document.schema == kRunSchema) text += run_table(document);
    if (document.schema == kCompareSchema) text += comparison_table(document);
    if (document.schema == kProjectSchema) text += projection_table(document);
    if (document.schema == kFabricSchema) text += fabric_table(document);
    if (document.schema == kCollSchema) text += coll_table(document);
  }
  return text;
}

}  // namespace rdmabench::report

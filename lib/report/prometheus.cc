#include "rdmabench/report/documents.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "fabric_document.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr double kNs = 1e-9;

/// The lines of one metric stand together: the format asks for it.
class Exposition {
 public:
  void add(const std::string& name, std::string_view help, const std::vector<Label>& labels,
           double value) {
    if (!std::isfinite(value)) return;
    auto [family, is_new] = families_.try_emplace(name);
    if (is_new) {
      family->second.lines = fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
    }
    std::string series = text_of_labels(labels);
    for (int repeat = 2; !family->second.series.insert(series).second; ++repeat) {
      std::vector<Label> more = labels;
      more.emplace_back("repeat", fmt::format("{}", repeat));
      series = text_of_labels(more);
    }
    family->second.lines += fmt::format("{}{} {}\n", name, series, value);
  }

  std::string text() const {
    std::string text;
    for (const auto& [name, family] : families_) text += family.lines;
    return text;
  }

 private:
  struct Family {
    std::string lines;
    std::set<std::string> series;
  };

  static std::string escaped(std::string_view text) {
    return replaced(terminal_safe(text, "\n"), {{'\n', "\\n"}, {'"', "\\\""}, {'\\', "\\\\"}});
  }

  static std::string text_of_labels(const std::vector<Label>& labels) {
    std::string text;
    for (const Label& label : labels) {
      if (label.second.empty()) continue;  // the same as no label
      text +=
          fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", label.first, escaped(label.second));
    }
    return text.empty() ? "" : fmt::format("{{{}}}", text);
  }

  std::map<std::string, Family> families_;
};

/// How a value of a result is written: the end of a name is its unit.
struct Gauge {
  std::string_view key;
  std::string_view name;
  double scale;
  std::string_view help;
  std::string_view percentile{};
};
constexpr auto kColumns = std::to_array<Gauge>({
    {"p50_ns", "latency_seconds", kNs, "Latency at a percentile of its samples.", "50"},
    {"p90_ns", "latency_seconds", kNs, "Latency at a percentile of its samples.", "90"},
    {"p99_ns", "latency_seconds", kNs, "Latency at a percentile of its samples.", "99"},
    {"p999_ns", "latency_seconds", kNs, "Latency at a percentile of its samples.", "99.9"},
    {"p9999_ns", "latency_seconds", kNs, "Latency at a percentile of its samples.", "99.99"},
    {"max_ns", "latency_seconds", kNs, "Latency at a percentile of its samples.", "100"},
    {"iterations", "iterations", 1, "Messages that were timed."},
    {"bits_per_s", "bandwidth_bits_per_second", 1, "Payload over time."},
    {"messages_per_s", "messages_per_second", 1, "Messages over time."},
    {"offered_messages_per_s", "offered_messages_per_second", 1, "The rate that was asked for."},
    {"achieved_messages_per_s", "achieved_messages_per_second", 1, "The rate that came of it."},
    {"lost", "lost_messages", 1, "Messages that did not arrive."},
    {"knee", "load_knee", 1, "1 at the highest load before latency rises steeply."},
    {"stable", "stable", 1, "0 if the epochs still differed when the run ended."},
    {"register_p50_ns", "registration_seconds", kNs, "Median time to register memory."},
    {"deregister_p50_ns", "deregistration_seconds", kNs, "Median time to deregister memory."},
    {"ratio", "compare_ratio", 1, "B against A."},
    {"ratio_low", "compare_low_ratio", 1, "The lower end of the interval of B against A."},
    {"ratio_high", "compare_high_ratio", 1, "The upper end of the interval of B against A."},
    {"step_s", "project_step_seconds", 1, "Projected time of one training step."},
    {"step_low_s", "project_step_low_seconds", 1, "The lower end of the step's interval."},
    {"step_high_s", "project_step_high_seconds", 1, "The upper end of the step's interval."},
    {"suspect", "suspect", 1, "1 if something disturbed the run."},
});

std::set<std::string> unsupported(const Document& document, std::size_t row) {
  std::set<std::string> keys;
  const auto& rows = list_of(json_of(document), "results");
  if (row >= rows.size()) return keys;
  for (const auto& key : list_of(rows[row], "unsupported_percentiles")) keys.insert(any_text(key));
  return keys;
}

void add_measured(Exposition& out, const Document& document) {
  std::size_t row = 0;
  for_each_measured(document, [&](const Measured& measured) {
    const std::set<std::string> left_out = unsupported(document, row++);
    for (const Value& value : measured.values) {
      for (const Gauge& metric : kColumns) {
        if (metric.key != value.first || left_out.count(std::string(value.first)) != 0) continue;
        std::vector<Label> labels{{"source", document.source}};
        labels.insert(labels.end(), measured.labels.begin(), measured.labels.end());
        if (!metric.percentile.empty()) {
          labels.emplace_back("percentile", std::string(metric.percentile));
        }
        const std::string_view load = measured.kind == "load" && !metric.percentile.empty()
                                          ? "rdmabench_load_"
                                          : "rdmabench_";
        out.add(fmt::format("{}{}", load, metric.name), metric.help, labels,
                value.second * metric.scale);
      }
    }
  });
}

void add_fabric(Exposition& out, const Document& document) {
  const FabricNames names(document);
  for (const NodeMedian& node : node_medians(document)) {
    const bool latency = node.metric == Metric::latency;
    const std::string name = latency ? "rdmabench_fabric_node_latency_seconds"
                                     : "rdmabench_fabric_node_bandwidth_bits_per_second";
    const double scale = latency ? kNs : 1;
    const auto add = [&](const char* role, double value) {
      if (value <= 0) return;
      std::vector<Label> labels{{"source", document.source},
                                {"node", names.host(node.rank)},
                                {"rank", fmt::format("{}", node.rank)},
                                {"rail", names.rail(node.rank, node.rail)},
                                {"role", role},
                                {"size_bytes", fmt::format("{}", node.size_bytes)}};
      out.add(name, "Median over the node's partners.", labels, value * scale);
      labels.emplace_back("metric", latency ? "latency" : "bandwidth");
      out.add("rdmabench_fabric_node_relative_ratio",
              "The node's median against the typical one; 1 is typical, less is worse.", labels,
              node.relative(value));
    };
    add("sender", node.as_sender);
    add("receiver", node.as_receiver);
  }
  std::size_t failed = 0;
  for (const PairMeasurement& pair : document.pairs) failed += pair.error.empty() ? 0 : 1;
  const std::vector<Label> source{{"source", document.source}};
  out.add("rdmabench_fabric_nodes", "Nodes of the plan.", source,
          double(list_of(json_of(document), "nodes").size()));
  out.add("rdmabench_fabric_lost_nodes", "Nodes that were dead, hung or never there.", source,
          double(list_of(json_of(document), "lost").size()));
  out.add("rdmabench_fabric_measurements", "Cells of the matrix.", source,
          double(document.pairs.size()));
  out.add("rdmabench_fabric_failed_measurements", "Cells without a value.", source, double(failed));
}

bool is_rdma(const Document& document) {
  return text_of(json_of(document), "not_rdma").empty() && not_rdma_of(document).empty();
}

/// Of fabrics the findings, of doctor the checks, and of every document how many of each status.
void add_judgements(Exposition& out, const Document& document, std::span<const Document> all) {
  std::map<Status, std::size_t> counts;
  for (const std::string_view status : kStatusNames) counts[status_of(status)] = 0;
  std::set<std::pair<std::string, Status>> limits;  // of pairs: a series for each would be too many
  for (const Judgement& one : judgements(document, all)) {
    ++counts[one.outcome];
    if (!one.finding) continue;
    const bool of_pair = document.schema == kFabricSchema && one.group == "expect" &&
                         !one.id.starts_with("require ");
    if (of_pair && !limits.emplace(one.id, one.outcome).second) continue;
    out.add("rdmabench_finding", "1 for each finding, with its status.",
            {{"source", document.source},
             {"group", one.group},
             {"subject", of_pair ? "" : one.subject},
             {"id", one.id},
             {"status", word(one.outcome)}},
            1);
  }
  for (const auto& [outcome, count] : counts) {
    out.add("rdmabench_findings", "How many findings have a status.",
            {{"source", document.source}, {"schema", document.schema}, {"status", word(outcome)}},
            double(count));
  }
}

}  // namespace

std::string to_prometheus(std::span<const Document> documents) {
  Exposition out;
  for (const Document& document : documents) {
    if (document.schema == kFabricSchema) {
      add_fabric(out, document);
    } else {
      add_measured(out, document);
    }
    if (!is_rdma(document)) {
      out.add("rdmabench_not_rdma", "1 where TCP was measured and nobody asked for that.",
              {{"source", document.source}, {"schema", document.schema}}, 1);
    }
    add_judgements(out, document, documents);
  }
  return out.text();
}

}  // namespace rdmabench::inline v1::report

#include "fabric/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "fabric/plan.h"
#include "json_fields.h"
#include "rdmabench/base/units.h"
#include "rdmabench/measure/statistics.h"
#include "rdmabench/report/text_table.h"
#include "report/csv.h"

namespace rdmabench::fabric {
namespace {

constexpr double kTail = 5;  // per cent
bool is_latency(Metric metric) {
  return metric == Metric::latency;
}

std::string shown(Metric metric, double value) {
  return is_latency(metric) ? fmt::format("{:.2f}", value / kNsPerUs)
                            : fmt::format("{:.2f}", value / kBitsPerGigabit);
}

const char* unit(Metric metric) {
  return is_latency(metric) ? "us" : "Gb/s";
}

Summary summary_of(const Matrix& matrix, Metric metric, std::uint64_t size, std::size_t most) {
  Summary summary{.metric = metric, .size_bytes = size};
  std::vector<std::size_t>& order = summary.worst_cells;
  std::vector<double> values;
  for (std::size_t i = 0; i < matrix.measurements.size(); ++i) {
    const Measurement& one = matrix.measurements[i];
    if (one.confirming || one.metric != metric || one.size_bytes != size) continue;
    if (!one.error.empty()) {
      ++summary.failed;
      continue;
    }
    order.push_back(i);
    values.push_back(one.value);
  }
  summary.cells = values.size();
  if (values.empty()) return summary;
  const auto worse = [&](std::size_t a, std::size_t b) {
    const double x = matrix.measurements[a].value, y = matrix.measurements[b].value;
    return is_latency(metric) ? x > y : x < y;
  };
  const std::size_t shown = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    worse);
  order.resize(shown);
  summary.typical = measure::median(values);
  summary.tail = measure::percentile(values, is_latency(metric) ? 100 - kTail : kTail);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  summary.worst = is_latency(metric) ? *high : *low;
  summary.best = is_latency(metric) ? *low : *high;
  return summary;
}

std::string heading(const Matrix& matrix) {
  const FabricPlan& plan = matrix.plan;
  std::set<std::uint32_t> rounds, confirming;
  for (const Measurement& one : matrix.measurements) {
    (one.confirming ? confirming : rounds).insert(one.round);
  }
  std::multiset<std::string> hosts;
  for (const Node& node : matrix.nodes) {
    if (!node.host.empty()) hosts.insert(node.host);
  }
  const bool together = hosts.size() > 1 && *hosts.begin() == *hosts.rbegin();
  std::string text =
      fmt::format("Fabric of {} {}: {}, {} rounds", matrix.nodes.size(),
                  together ? "ranks on one host" : "nodes", plan.pattern, rounds.size());
  if (!confirming.empty()) text += fmt::format(" and {} to confirm", confirming.size());
  const std::string taken = taken_paths(matrix);
  text += fmt::format("; {} over {}", plan.operation, taken.empty() ? plan.backend : taken);
  if (!plan.rails.empty()) text += fmt::format("; rails {}", fmt::join(plan.rails, ", "));
  return text + '\n';
}

std::string pair_name(const Matrix& matrix, const Measurement& one) {
  std::string text =
      fmt::format("{} -> {}", node_name(matrix, one.sender), node_name(matrix, one.receiver));
  if (rails_of(matrix.plan) > 1) text += fmt::format(" on rail {}", one.rail);
  return text;
}

/// The pairs of one metric, a line for each size.
std::string figures(const std::vector<Summary>& summaries, Metric metric, std::size_t width) {
  const char* const tail = is_latency(metric) ? "p95" : "p5";
  const auto heading_of = [&](std::string_view what) {
    return fmt::format("{}[{}]", what, unit(metric));
  };
  report::TextTable table({{std::string(name(metric))},
                           {"pairs"},
                           {"failed"},
                           {heading_of("typical")},
                           {heading_of(tail)},
                           {heading_of("worst")},
                           {heading_of("best")}});
  bool any = false;
  for (const Summary& one : summaries) {
    if (one.metric != metric) continue;
    any = true;
    const auto value = [&](double v) { return one.cells > 0 ? shown(metric, v) : "-"; };
    table.add_row({format_size(one.size_bytes), std::to_string(one.cells),
                   std::to_string(one.failed), value(one.typical), value(one.tail),
                   value(one.worst), value(one.best)});
  }
  return any ? '\n' + table.text(width) : "";
}

std::string worst_pairs(const Matrix& matrix, const std::vector<Summary>& summaries) {
  std::string text;
  for (const Summary& summary : summaries) {
    if (summary.worst_cells.empty()) continue;
    text += fmt::format("\nWorst pairs, {} of {}\n", name(summary.metric),
                        format_size(summary.size_bytes));
    for (const std::size_t index : summary.worst_cells) {
      const Measurement& one = matrix.measurements[index];
      text += fmt::format("  {} {}, {:.2f} of typical: {}\n", shown(one.metric, one.value),
                          unit(one.metric), one.value / summary.typical, pair_name(matrix, one));
    }
  }
  return text;
}

}  // namespace

std::vector<Summary> summarize(const Matrix& matrix, std::size_t most) {
  std::vector<Summary> summaries;
  for (const std::uint64_t size : matrix.plan.bandwidth_sizes) {
    summaries.push_back(summary_of(matrix, Metric::bandwidth, size, most));
  }
  for (const std::uint64_t size : matrix.plan.latency_sizes) {
    summaries.push_back(summary_of(matrix, Metric::latency, size, most));
  }
  return summaries;
}

std::string node_name(const Matrix& matrix, std::uint32_t rank) {
  const std::string host = rank < matrix.nodes.size() ? matrix.nodes[rank].host : "";
  return host.empty() ? fmt::format("node {}", rank)
                      : fmt::format("node {} ({})", rank, report::terminal_safe(host));
}

std::string to_table(const Matrix& matrix, const Attribution& verdict, std::size_t width) {
  constexpr std::size_t kFewSizes = 2;  // of which five pairs each can be read
  const std::size_t sizes = matrix.plan.bandwidth_sizes.size() + matrix.plan.latency_sizes.size();
  const std::vector<Summary> summaries = summarize(matrix, sizes <= kFewSizes ? 5 : 1);
  return heading(matrix) + '\n' + verdict_text(matrix, verdict, summaries) +
         figures(summaries, Metric::bandwidth, width) + figures(summaries, Metric::latency, width) +
         worst_pairs(matrix, summaries) + failures_text(matrix);
}

std::string to_csv(const Matrix& matrix) {
  report::Csv csv({"round", "pattern", "sender", "receiver", "rail", "metric", "size_bytes",
                   "value", "p99_ns", "error", "confirming", "over", "notes"});
  for (const Measurement& one : matrix.measurements) {
    Json row = write_fields(one);
    if (!one.error.empty()) row["value"] = nullptr;
    csv.add(row);
  }
  return csv.text();
}

}  // namespace rdmabench::fabric

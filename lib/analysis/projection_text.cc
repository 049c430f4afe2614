#include <fmt/format.h>

#include <cmath>

#include "rdmabench/analysis/projection.h"
#include "rdmabench/report/text_table.h"

namespace rdmabench::analysis {
namespace {

using report::printable;
using report::TextTable;

std::string milliseconds(double seconds) {
  return fmt::format("{:.5g}", seconds * 1e3);
}

std::string interval(const ProjectedStep& step) {
  if (!step.low_s) return "-";
  return fmt::format("{} to {}", milliseconds(*step.low_s), milliseconds(*step.high_s));
}

std::string percent(double log_ratio) {
  return fmt::format("{:+.2f} %", 100 * std::expm1(log_ratio));
}

void add_side(std::vector<std::string>& cells, const ProjectedStep& step) {
  cells.push_back(milliseconds(step.time.step_s));
  cells.push_back(interval(step));
}

std::string axis_value(const Projection& projection, double value) {
  return fmt::format("{:.6g}", value) +
         (projection.options.axis == Axis::nodes && value == 1 ? " (no network)" : "");
}

std::string step_table(const Projection& projection) {
  std::vector<TextTable::Column> columns{{std::string(name(projection.options.axis))},
                                         {"compute[ms]"},
                                         {"network A[ms]"},
                                         {"stragglers"},
                                         {"step A[ms]"},
                                         {"interval"}};
  if (projection.b) {
    columns.insert(columns.end(), {{"network B"},
                                   {"stragglers"},
                                   {"step B[ms]"},
                                   {"interval"},
                                   {"B/A-1"},
                                   {"verdict", TextTable::Align::left}});
  }
  TextTable table(columns);
  for (const ProjectionRow& row : projection.rows) {
    std::vector<std::string> cells{axis_value(projection, row.value)};
    if (!row.a) {
      cells.emplace_back("refused: see below");
      table.add_row(std::move(cells));
      continue;
    }
    cells.push_back(milliseconds(row.a->time.compute_s));
    cells.push_back(milliseconds(row.a->time.communication_s));
    cells.push_back(milliseconds(row.a->time.stragglers_s));
    add_side(cells, *row.a);
    if (row.b) {
      cells.push_back(milliseconds(row.b->time.communication_s));
      cells.push_back(milliseconds(row.b->time.stragglers_s));
      add_side(cells, *row.b);
      cells.push_back(percent(std::log(row.b->time.step_s / row.a->time.step_s)));
      std::string verdict(name(row.difference->verdict));
      if (row.difference->more) verdict += fmt::format(", {} more", *row.difference->more);
      cells.push_back(std::move(verdict));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string bounds(const char* label, const ProjectedStep& step) {
  return fmt::format("  {}: nothing hidden {} ms, all hidden that can be {} ms\n", label,
                     milliseconds(step.nothing_hidden_s), milliseconds(step.all_hidden_s));
}

std::string costs(const Projection& projection) {
  std::string text;
  for (const ProjectionRow& row : projection.rows) {
    if (!row.a || (!row.a->cost && !(row.b && row.b->cost))) continue;
    text += fmt::format("  {:.6g}:", row.value);
    if (row.a->cost) text += fmt::format(" A {:.4g}", *row.a->cost);
    if (row.b && row.b->cost) text += fmt::format(" B {:.4g}", *row.b->cost);
    if (row.b && row.a->cost && row.b->cost) {
      text += fmt::format(", B/A-1 {}", percent(std::log(*row.b->cost / *row.a->cost)));
    }
    text += '\n';
  }
  if (text.empty()) return {};
  return "\nCost of one step, in the currency of the prices per node and hour:\n" + text;
}

std::string break_even_text(const Projection& projection) {
  if (!projection.b) return {};
  const std::string axis(name(projection.options.axis));
  const double margin = 100 * projection.options.settings.margin;
  std::string text;
  for (const BreakEven& one : projection.break_evens) {
    text += fmt::format(
        "Break-even: {} the margin of {:g} % from about {:.4g} {} on (between {:.6g} and {:.6g}).\n",
        one.beyond_after ? "beyond" : "within", margin, one.about, axis, one.from, one.to);
  }
  if (text.empty()) {
    text = fmt::format("Break-even: none over these {}; the margin is {:g} %.\n", axis, margin);
  }
  return "\n" + text;
}

std::string side_text(const char* label, const LinkSamples& samples) {
  return fmt::format("{}: {}, {} launches of latency, {} of bandwidth\n", label,
                     printable(samples.operation), samples.latency.size(),
                     samples.bandwidth.size());
}

}  // namespace

std::string to_table(const Projection& projection) {
  std::string text = "Step time projected from measured curves\n";
  text += side_text("A", projection.a);
  if (projection.b) text += side_text("B", *projection.b);
  text += "\n" + step_table(projection);
  for (const ProjectionRow& row : projection.rows) {
    if (!row.refusal.empty()) {
      text += fmt::format("  {:.6g}: {}\n", row.value, printable(row.refusal));
    }
  }
  if (projection.b) {
    for (const ProjectionRow& row : projection.rows) {
      if (!row.difference || row.difference->text.empty()) continue;
      text += fmt::format("  {:.6g}: {}\n", row.value, printable(row.difference->text));
    }
  }
  text += break_even_text(projection);
  text += "\nBounds by overlap, at the first row:\n";
  for (const ProjectionRow& row : projection.rows) {
    if (!row.a) continue;
    text += bounds("A", *row.a);
    if (row.b) text += bounds("B", *row.b);
    break;
  }
  text += costs(projection);
  text += "\nAssumptions\n";
  TextTable table({{"  name", TextTable::Align::left},
                   {"value", TextTable::Align::left},
                   {"unit", TextTable::Align::left},
                   {"from", TextTable::Align::left}});
  for (const Assumption& one : projection.assumptions) {
    table.add_row({"  " + one.name, one.value, one.unit, one.origin});
  }
  text += table.text();
  for (const std::string& note : projection.notes) {
    text += fmt::format("Note: {}\n", printable(note));
  }
  text +=
      "A projection is arithmetic over two measured numbers, not a measurement: check it against a "
      "run.\n";
  return text;
}

}  // namespace rdmabench::analysis

#include <fmt/format.h>

#include <cmath>

#include "rdmabench/analysis/projection.h"
#include "rdmabench/report/text_table.h"
#include "values.h"

namespace rdmabench::analysis {
namespace {

using report::printable;
using report::TextTable;

std::string milliseconds(double seconds) {
  return fmt::format("{:.5g}", seconds * 1e3);
}

std::string axis_value(double value) {
  return fmt::format("{:.10g}", value);
}

std::string or_dash(const std::optional<double>& seconds) {
  return seconds ? milliseconds(*seconds) : "-";
}

using SideOfRow = std::optional<ProjectedStep> ProjectionRow::*;

std::string side_table(const Projection& projection, SideOfRow side) {
  TextTable table({{std::string(name(projection.options.axis))},
                   {"compute[ms]"},
                   {"network[ms]"},
                   {"of it stragglers"},
                   {"hidden"},
                   {"step[ms]"},
                   {"low"},
                   {"high"}});
  for (const ProjectionRow& row : projection.rows) {
    if (const auto& step = row.*side) {
      table.add_row({axis_value(row.value), milliseconds(step->time.compute_s),
                     milliseconds(step->time.communication_s),
                     milliseconds(step->time.stragglers_s), milliseconds(step->time.hidden_s),
                     milliseconds(step->time.step_s), or_dash(step->low_s), or_dash(step->high_s)});
    } else {
      table.add_row({axis_value(row.value), "refused"});
    }
  }
  return table.text();
}

std::string difference_table(const Projection& projection) {
  TextTable table({{std::string(name(projection.options.axis))},
                   {"step A[ms]"},
                   {"step B[ms]"},
                   {"B/A-1"},
                   {"low"},
                   {"high"},
                   {"verdict", TextTable::Align::left}});
  for (const ProjectionRow& row : projection.rows) {
    if (!row.difference) continue;
    const auto& estimate = row.difference->estimate;
    std::string verdict(name(row.difference->verdict));
    if (row.difference->more) verdict += fmt::format(", {} more", *row.difference->more);
    table.add_row({axis_value(row.value), milliseconds(row.a->time.step_s),
                   milliseconds(row.b->time.step_s),
                   percent(std::log(row.b->time.step_s / row.a->time.step_s)),
                   estimate ? percent(estimate->low) : "-",
                   estimate ? percent(estimate->high) : "-", std::move(verdict)});
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
    text += fmt::format("  {}:", axis_value(row.value));
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
  std::string text = "Step time projected from measured curves\n\n";
  text += side_text("A", projection.a) + side_table(projection, &ProjectionRow::a);
  if (projection.b) {
    text += "\n" + side_text("B", *projection.b) + side_table(projection, &ProjectionRow::b);
    text += "\nB against A\n" + difference_table(projection);
  }
  for (const ProjectionRow& row : projection.rows) {
    const std::string why = row.difference ? row.difference->text : row.refusal;
    if (!why.empty()) text += fmt::format("  {}: {}\n", axis_value(row.value), printable(why));
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
                   {"from", TextTable::Align::left}});
  for (const Assumption& one : projection.assumptions) {
    table.add_row(
        {"  " + one.name, one.value + (one.unit.empty() ? "" : " " + one.unit), one.origin});
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

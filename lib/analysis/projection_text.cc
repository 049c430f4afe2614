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
                   {projection.options.a_name + "[ms]"},
                   {projection.options.b_name + "[ms]"},
                   {"change"},
                   {"low"},
                   {"high"},
                   {"verdict", TextTable::Align::left}});
  for (const ProjectionRow& row : projection.rows) {
    if (!row.difference) continue;
    const auto& estimate = row.difference->estimate;
    std::string verdict(name(row.difference->verdict, row.difference->direction));
    verdict += open_text(row.difference->more, row.difference->obstacle,
                         variation_of(row.difference->deviation));
    table.add_row({axis_value(row.value), milliseconds(row.a->time.step_s),
                   milliseconds(row.b->time.step_s),
                   percent(std::log(row.b->time.step_s / row.a->time.step_s)),
                   estimate ? percent(estimate->low) : "-",
                   estimate ? percent(estimate->high) : "-", std::move(verdict)});
  }
  return table.text();
}

std::string bounds(const std::string& label, const ProjectedStep& step) {
  return fmt::format("  {}: nothing hidden {} ms, all hidden that can be {} ms\n", printable(label),
                     milliseconds(step.nothing_hidden_s), milliseconds(step.all_hidden_s));
}

std::string costs(const Projection& projection) {
  std::string text;
  for (const ProjectionRow& row : projection.rows) {
    if (!row.a || (!row.a->cost && !(row.b && row.b->cost))) continue;
    text += fmt::format("  {}:", axis_value(row.value));
    const ProjectionOptions& options = projection.options;
    const bool both = row.b && row.a->cost && row.b->cost;
    if (row.a->cost) text += fmt::format(" {} {:.4g}", printable(options.a_name), *row.a->cost);
    if (row.b && row.b->cost) {
      text += fmt::format("{} {} {:.4g}", row.a->cost ? "," : "", printable(options.b_name),
                          *row.b->cost);
    }
    if (both) text += fmt::format(", {}", percent(std::log(*row.b->cost / *row.a->cost)));
    text += '\n';
  }
  if (text.empty()) return {};
  return "\nCost of one step, in the currency of the prices per node and hour:\n" + text;
}

std::string samples_text(const std::string& label, const LinkSamples& samples) {
  return fmt::format("{}: {}, {} launches of latency, {} of bandwidth\n", printable(label),
                     printable(samples.operation), samples.latency.size(),
                     samples.bandwidth.size());
}

}  // namespace

std::string to_table(const Projection& projection) {
  const std::string& a = projection.options.a_name;
  const std::string& b = projection.options.b_name;
  std::string text = printable(summary(projection)) + "\n";
  if (projection.b) {
    text +=
        printable(fmt::format("\nStep time projected from measured curves, {} against {}", b, a),
                  "\n") +
        "\n" + difference_table(projection);
  } else {
    text += "\nStep time projected from measured curves\n";
  }
  text += "\n" + samples_text(a, projection.a) + side_table(projection, &ProjectionRow::a);
  if (projection.b) {
    text += "\n" + samples_text(b, *projection.b) + side_table(projection, &ProjectionRow::b);
  }
  for (const ProjectionRow& row : projection.rows) {
    const bool noisy = row.difference && row.difference->obstacle == Obstacle::noise;
    const std::string why = noisy            ? ""  // the table says it
                            : row.difference ? row.difference->text
                                             : row.refusal;
    if (!why.empty()) text += fmt::format("  {}: {}\n", axis_value(row.value), printable(why));
  }
  text += "\nBounds by overlap, at the first row:\n";
  for (const ProjectionRow& row : projection.rows) {
    if (!row.a) continue;
    text += bounds(a, *row.a);
    if (row.b) text += bounds(b, *row.b);
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
  return printable(text, "\n");  // the summary has names of files
}

}  // namespace rdmabench::analysis

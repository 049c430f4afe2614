#include <fmt/format.h>

#include <array>
#include <cmath>

#include "rdmabench/analysis/projection.h"
#include "rdmabench/report/text_table.h"
#include "report/number_column.h"
#include "values.h"

namespace rdmabench::analysis {
namespace {

using report::terminal_safe;
using report::TextTable;

std::string milliseconds(double seconds) {
  return fmt::format("{:.5g}", seconds * 1e3);
}

std::string axis_value(double value) {
  return fmt::format("{:.10g}", value);
}

constexpr int kDecimals = 4;  // of milliseconds

using SideOfRow = std::optional<ProjectedStep> ProjectionRow::*;

std::string side_table(const Projection& projection, SideOfRow side, std::size_t width) {
  using report::NumberColumn;
  NumberColumn compute("compute[ms]", kDecimals);
  NumberColumn network("network[ms]", kDecimals);
  NumberColumn stragglers("stragglers[ms]", kDecimals, 2);
  NumberColumn hidden("hidden[ms]", kDecimals, 1);
  NumberColumn step_ms("step[ms]", kDecimals);
  NumberColumn low("low[ms]", kDecimals);
  NumberColumn high("high[ms]", kDecimals);
  for (const ProjectionRow& row : projection.rows) {
    const auto& step = row.*side;
    const auto add = [&step](NumberColumn& column, std::optional<double> seconds) {
      column.add(step && seconds ? *seconds * 1e3 : NAN);
    };
    const StepTime time = step ? step->time : StepTime();
    add(compute, time.compute_s);
    add(network, time.communication_s);
    add(stragglers, time.stragglers_s);
    add(hidden, time.hidden_s);
    add(step_ms, time.step_s);
    add(low, step ? step->low_s : std::nullopt);
    add(high, step ? step->high_s : std::nullopt);
  }
  const std::array columns{compute, network, stragglers, hidden, step_ms, low, high};
  std::vector<TextTable::Column> headings{{std::string(name(projection.options.axis))}};
  for (const NumberColumn& column : columns) headings.push_back(column.column());
  TextTable table(std::move(headings));
  for (std::size_t i = 0; i < projection.rows.size(); ++i) {
    std::vector<std::string> cells{axis_value(projection.rows[i].value)};
    if (projection.rows[i].*side) {
      for (const NumberColumn& column : columns) cells.push_back(column.text(i));
    } else {
      cells.emplace_back("refused");
    }
    table.add_row(std::move(cells));
  }
  return table.text(width);
}

std::string difference_table(const Projection& projection, const std::string& a_name,
                             const std::string& b_name, std::size_t width) {
  std::vector<Difference> rows;
  for (const ProjectionRow& row : projection.rows) {
    if (!row.difference) continue;
    const double a_s = row.a->time.step_s;
    const double b_s = row.b->time.step_s;
    rows.push_back(
        {axis_value(row.value), a_s * 1e3, b_s * 1e3, std::log(b_s / a_s), *row.difference});
  }
  return differences_table(std::string(name(projection.options.axis)), a_name + "[ms]",
                           b_name + "[ms]", rows, width);
}

std::string bounds(const std::string& label, const ProjectedStep& step) {
  return fmt::format("  {}: nothing hidden {} ms, all hidden that can be {} ms\n",
                     terminal_safe(label), milliseconds(step.nothing_hidden_s),
                     milliseconds(step.all_hidden_s));
}

std::string costs(const Projection& projection) {
  std::string text;
  for (const ProjectionRow& row : projection.rows) {
    if (!row.a || (!row.a->cost && !(row.b && row.b->cost))) continue;
    text += fmt::format("  {}:", axis_value(row.value));
    const ProjectionOptions& options = projection.options;
    const bool both = row.b && row.a->cost && row.b->cost;
    if (row.a->cost) text += fmt::format(" {} {:.4g}", terminal_safe(options.a_name), *row.a->cost);
    if (row.b && row.b->cost) {
      text += fmt::format("{} {} {:.4g}", row.a->cost ? "," : "", terminal_safe(options.b_name),
                          *row.b->cost);
    }
    if (both) text += fmt::format(", {}", percent(std::log(*row.b->cost / *row.a->cost)));
    text += '\n';
  }
  if (text.empty()) return {};
  return "\nCost of one step, in the currency of the prices per node and hour:\n" + text;
}

std::string samples_text(const std::string& label, const LinkSamples& samples) {
  return fmt::format("{}: {}, {} launches of latency, {} of bandwidth\n", terminal_safe(label),
                     terminal_safe(samples.operation), samples.latency.size(),
                     samples.bandwidth.size());
}

}  // namespace

std::string to_table(const Projection& projection, std::size_t width) {
  const std::string& a = projection.options.a_name;
  const std::string& b = projection.options.b_name;
  std::string text = terminal_safe(summary(projection)) + "\n";
  if (projection.b) {
    const NamedTables named =
        name_sides(a, b, width, [&](const std::string& short_a, const std::string& short_b) {
          return std::vector{difference_table(projection, short_a, short_b, width)};
        });
    text +=
        terminal_safe(
            fmt::format("\nStep time projected from measured curves: {} against {}", b, a), "\n") +
        "\n" + named.legend + named.tables.front();
  } else {
    text += "\nStep time projected from measured curves\n";
  }
  text += "\n" + samples_text(a, projection.a) + side_table(projection, &ProjectionRow::a, width);
  if (projection.b) {
    text +=
        "\n" + samples_text(b, *projection.b) + side_table(projection, &ProjectionRow::b, width);
  }
  for (const ProjectionRow& row : projection.rows) {
    const bool noisy = row.difference && row.difference->obstacle == Obstacle::noise;
    const std::string why = noisy            ? ""  // the table says it
                            : row.difference ? row.difference->text
                                             : row.refusal;
    if (!why.empty()) text += fmt::format("  {}: {}\n", axis_value(row.value), terminal_safe(why));
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
                   {"from", TextTable::Align::left},
                   {"value", TextTable::Align::left}});
  for (const Assumption& one : projection.assumptions) {
    table.add_row(
        {"  " + one.name, one.origin, one.value + (one.unit.empty() ? "" : " " + one.unit)});
  }
  text += table.text(width);
  for (const std::string& note : projection.notes) {
    text += fmt::format("Note: {}\n", terminal_safe(note));
  }
  text +=
      "A projection is arithmetic over two measured numbers, not a measurement: check it against a "
      "run.\n";
  return terminal_safe(text, "\n");  // the summary has names of files
}

}  // namespace rdmabench::analysis

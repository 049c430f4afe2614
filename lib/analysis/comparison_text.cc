#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rdmabench/analysis/comparison.h"
#include "rdmabench/report/text_table.h"
#include "values.h"

namespace rdmabench::analysis {
namespace {

using report::printable;
using report::TextTable;

std::string value_text(Metric metric, double value) {
  return metric == Metric::bandwidth ? fmt::format("{:.4g}", value / 1e9)
                                     : fmt::format("{:.4g}", value / 1e3);
}

/// For the head of a column.
std::string short_name(const std::string& name) {
  constexpr std::size_t kMost = 16;
  return name.size() <= kMost ? name : "..." + name.substr(name.size() - (kMost - 3));
}

std::string side_text(const std::string& label, const ComparedSide& side) {
  std::string text = fmt::format("{}: {} between {} of nodes", printable(label),
                                 counted(side.launches, "launch"), counted(side.pairs, "pair"));
  for (const auto& [code, count] : side.suspicions) {
    text += fmt::format("; {} suspect of {}", count, printable(code));
  }
  for (const auto& [kind, count] : side.disturbances) {
    text += fmt::format("; counters of {}: {}", printable(kind), count);
  }
  text += '\n';
  for (const std::string& failed : side.failed) {
    text += fmt::format("   left out, it ended early: {}\n", printable(failed));
  }
  return text;
}

std::string confound_text(const Confound& confound, const ComparisonOptions& options) {
  return printable(fmt::format("{}{}: {} {}; {} {}", confound.name,
                               confound.where.empty() ? "" : " (" + confound.where + ")",
                               options.a_name, fmt::join(confound.a, ", "), options.b_name,
                               fmt::join(confound.b, ", ")));
}

void add_row(TextTable& table, const Family& family, const Cell& cell,
             const ComparisonOptions& options) {
  const Judgement& judgement = cell.judgement;
  std::string verdict(name(judgement.verdict, judgement.direction));
  verdict += open_text(judgement.more, judgement.obstacle, variation_of(judgement.deviation));
  if (cell.a_suspect + cell.b_suspect > 0) {
    verdict += fmt::format(" (suspect: {} {}, {} {})", short_name(options.a_name), cell.a_suspect,
                           short_name(options.b_name), cell.b_suspect);
  }
  if (judgement.verdict == Verdict::refused) {
    table.add_row({cell_text(cell), "-", "-", "-", "-", "-", verdict});
    return;
  }
  const auto& estimate = judgement.estimate;
  table.add_row(
      {cell_text(cell), value_text(family.metric, cell.a_typical),
       value_text(family.metric, cell.b_typical), estimate ? percent(estimate->difference) : "-",
       estimate ? percent(estimate->low) : "-", estimate ? percent(estimate->high) : "-", verdict});
}

std::string section(const Family& family, const ComparisonOptions& options) {
  const std::string unit = family.metric == Metric::bandwidth ? "[Gb/s]" : "[us]";
  std::string text =
      '\n' + printable(fmt::format("{} ({}): {}{}", family_text(family), family.kind,
                                   name(family.verdict, family.direction),
                                   open_text(family.more, family.obstacle, family.variation)));
  if (!family.confounds.empty()) text += ", confounded";
  text += '\n';
  const std::string level = fmt::format("{:g}%", 100 * (1 - 2 * options.settings.alpha));
  TextTable table({{"size"},
                   {short_name(options.a_name) + unit},
                   {short_name(options.b_name) + unit},
                   {"change"},
                   {level + " low"},
                   {"high"},
                   {"verdict", TextTable::Align::left}});
  for (const Cell& cell : family.cells) add_row(table, family, cell, options);
  text += table.text();
  std::vector<std::string> said;
  for (const Cell& cell : family.cells) {
    const std::string& why = cell.judgement.text;
    if (cell.judgement.obstacle == Obstacle::noise) continue;  // the table says it
    if (why.empty() || std::find(said.begin(), said.end(), why) != said.end()) continue;
    said.push_back(why);
    text += printable(fmt::format("  {}: {}", cell_text(cell), why)) + '\n';
  }
  return text;
}

}  // namespace

std::string to_table(const Comparison& comparison) {
  const ComparisonOptions& options = comparison.options;
  std::string text = printable(summary(comparison)) + '\n';
  for (const Family& family : comparison.families) text += section(family, options);
  text += "\nDetails\n";
  text += side_text(options.a_name, comparison.a) + side_text(options.b_name, comparison.b);
  if (comparison.order.known) {
    text += printable(fmt::format("Order by time, A is {} and B is {}: {}", options.a_name,
                                  options.b_name, comparison.order.pattern)) +
            '\n';
  }
  for (const bool declared : {false, true}) {
    for (const Confound& one : comparison.confounds) {
      if (one.declared != declared) continue;
      text +=
          fmt::format("{}: {}\n", declared ? "Compared" : "Confounds", confound_text(one, options));
    }
  }
  for (const std::string& note : comparison.notes) {
    text += fmt::format("Note: {}\n", printable(note));
  }
  text += fmt::format(
      "A wrong EQUIVALENT, BETTER or WORSE at the margin: {:g} % at most. Seed {} of the bootstrap, "
      "used above {} launches.\n",
      100 * options.settings.alpha, options.settings.seed, kMostForT);
  return printable(text, "\n");  // the summary has names of files
}

}  // namespace rdmabench::analysis

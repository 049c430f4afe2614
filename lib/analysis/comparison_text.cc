#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "rdmabench/analysis/comparison.h"
#include "rdmabench/report/text_table.h"
#include "values.h"

namespace rdmabench::analysis {
namespace {

using report::terminal_safe;

std::string side_text(const std::string& label, const ComparedSide& side) {
  std::string text = fmt::format("{}: {} between {} of nodes", terminal_safe(label),
                                 counted(side.launches, "launch"), counted(side.pairs, "pair"));
  for (const auto& [code, count] : side.suspicions) {
    text += fmt::format("; {} suspect of {}", count, terminal_safe(code));
  }
  for (const auto& [kind, count] : side.disturbances) {
    text += fmt::format("; counters of {}: {}", terminal_safe(kind), count);
  }
  text += '\n';
  for (const std::string& failed : side.failed) {
    text += fmt::format("   left out, it ended early: {}\n", terminal_safe(failed));
  }
  return text;
}

std::string confound_text(const Confound& confound, const ComparisonOptions& options) {
  return terminal_safe(fmt::format("{}{}: {} {}; {} {}", confound.name,
                                   confound.where.empty() ? "" : " (" + confound.where + ")",
                                   options.a_name, fmt::join(confound.a, ", "), options.b_name,
                                   fmt::join(confound.b, ", ")));
}

std::string table_of(const Family& family, const std::string& a_name, const std::string& b_name,
                     std::size_t width) {
  const bool is_rate = family.metric == Metric::bandwidth;
  const std::string unit = is_rate ? "[Gb/s]" : "[us]";
  const double scale = is_rate ? 1e9 : 1e3;  // of bit/s, and of ns
  std::vector<Difference> rows;
  for (const Cell& cell : family.cells) {
    const Judgement& judgement = cell.judgement;
    const bool refused = judgement.verdict == Verdict::refused;
    rows.push_back(
        {cell_text(cell), refused ? NAN : cell.a_typical / scale,
         refused ? NAN : cell.b_typical / scale,
         judgement.estimate ? std::optional(judgement.estimate->difference) : std::nullopt,
         judgement});
  }
  return differences_table("size", a_name + unit, b_name + unit, rows, width);
}

/// How many launches are suspect, once for all sizes that have as many.
std::string suspects_text(const Family& family, const ComparisonOptions& options) {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  for (const Cell& cell : family.cells) {
    if (cell.a_suspect + cell.b_suspect == 0) continue;
    const std::string text =
        fmt::format("{} {}, {} {}", options.a_name, cell.a_suspect, options.b_name, cell.b_suspect);
    auto known =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == text; });
    if (known == all.end()) known = all.insert(known, {text, {}});
    known->second.push_back(cell_text(cell));
  }
  std::string lines;
  for (const auto& [text, sizes] : all) {
    const std::string where =
        sizes.size() == family.cells.size() ? "" : fmt::format(" of {}", fmt::join(sizes, ", "));
    lines += terminal_safe(fmt::format("  suspect launches{}: {}", where, text)) + '\n';
  }
  return lines;
}

std::string section(const Family& family, const ComparisonOptions& options,
                    const std::string& table) {
  std::string text =
      '\n' + terminal_safe(fmt::format("{} ({}): {}{}", family_text(family), family.kind,
                                       name(family.verdict, family.direction),
                                       open_text(family.more, family.obstacle, family.variation)));
  if (!family.confounds.empty()) text += ", confounded";
  text += '\n' + table + suspects_text(family, options);
  std::vector<std::string> said;
  for (const Cell& cell : family.cells) {
    const std::string& why = cell.judgement.text;
    if (cell.judgement.obstacle == Obstacle::noise) continue;  // the table says it
    if (why.empty() || std::find(said.begin(), said.end(), why) != said.end()) continue;
    said.push_back(why);
    text += terminal_safe(fmt::format("  {}: {}", cell_text(cell), why)) + '\n';
  }
  return text;
}

}  // namespace

std::string to_table(const Comparison& comparison, std::size_t width) {
  const ComparisonOptions& options = comparison.options;
  std::string text = terminal_safe(summary(comparison)) + '\n';
  const NamedTables named = name_sides(options.a_name, options.b_name, width,
                                       [&](const std::string& a, const std::string& b) {
                                         std::vector<std::string> tables;
                                         for (const Family& family : comparison.families) {
                                           tables.push_back(table_of(family, a, b, width));
                                         }
                                         return tables;
                                       });
  text += named.legend;
  for (std::size_t i = 0; i < comparison.families.size(); ++i) {
    text += section(comparison.families[i], options, named.tables[i]);
  }
  text += "\nDetails\n";
  text += side_text(options.a_name, comparison.a) + side_text(options.b_name, comparison.b);
  if (comparison.order.known) {
    text += terminal_safe(fmt::format("Order by time, A is {} and B is {}: {}", options.a_name,
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
    text += fmt::format("Note: {}\n", terminal_safe(note));
  }
  text += fmt::format("low and high: the {:g} % interval of the change.\n",
                      100 * (1 - 2 * options.settings.alpha));
  text += fmt::format(
      "A wrong EQUIVALENT, BETTER or WORSE at the margin: {:g} % at most. Seed {} of the bootstrap, "
      "used above {} launches.\n",
      100 * options.settings.alpha, options.settings.seed, kMaxLaunchesForT);
  return terminal_safe(text, "\n");  // the summary has names of files
}

}  // namespace rdmabench::analysis

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rdmabench/analysis/comparison.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/text_table.h"
#include "values.h"

namespace rdmabench::analysis {
namespace {

using report::printable;
using report::TextTable;

std::string percent_of(double ratio) {
  return fmt::format("{:.4g} %", 100 * ratio);
}

std::string value_text(Metric metric, double value) {
  return metric == Metric::bandwidth ? fmt::format("{:.4g}", value / 1e9)
                                     : fmt::format("{:.4g}", value / 1e3);
}

std::string more_text(const std::optional<std::uint32_t>& more) {
  return more ? fmt::format(", {} launches more of each side", *more) : "";
}

std::string side_text(const char* label, const ComparedSide& side) {
  std::string text =
      fmt::format("{}: {} launch{} between {} pair{} of nodes", label, side.launches,
                  side.launches == 1 ? "" : "es", side.pairs, side.pairs == 1 ? "" : "s");
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

std::string confound_text(const Confound& confound) {
  return printable(fmt::format("{}{}: A {}; B {}", confound.name,
                               confound.where.empty() ? "" : " (" + confound.where + ")",
                               fmt::join(confound.a, ", "), fmt::join(confound.b, ", ")));
}

std::string headline(const Comparison& comparison) {
  const std::string verdict =
      fmt::format("{}{}", name(comparison.verdict), more_text(comparison.more));
  std::vector<std::string> names;
  for (const Confound& one : comparison.confounds) {
    if (!one.declared) names.push_back(one.name);
  }
  return printable(fmt::format(
             "B against A, margin {}: {}", percent_of(comparison.options.settings.margin),
             names.empty() ? verdict
                           : fmt::format("CONFOUNDED by {} (the two as they stand: {})",
                                         fmt::join(names, ", "), verdict))) +
         "\n";
}

std::string size_text(const Cell& cell) {
  std::string text = format_size(cell.size_bytes);
  if (cell.load) text += fmt::format(" @{:g}", *cell.load);
  return text;
}

void add_row(TextTable& table, const Family& family, const Cell& cell) {
  const Judgement& judgement = cell.judgement;
  std::string verdict(name(judgement.verdict));
  if (judgement.more) verdict += fmt::format(", {} more", *judgement.more);
  if (cell.a_suspect + cell.b_suspect > 0) {
    verdict += fmt::format(" (suspect: A {}, B {})", cell.a_suspect, cell.b_suspect);
  }
  if (judgement.verdict == Verdict::refused) {
    table.add_row({size_text(cell), "-", "-", "-", "-", "-", verdict});
    return;
  }
  const auto& estimate = judgement.estimate;
  table.add_row(
      {size_text(cell), value_text(family.metric, cell.a_typical),
       value_text(family.metric, cell.b_typical), estimate ? percent(estimate->difference) : "-",
       estimate ? percent(estimate->low) : "-", estimate ? percent(estimate->high) : "-", verdict});
}

std::string family_text(const Family& family, const Settings& settings) {
  const bool rate = family.metric == Metric::bandwidth;
  const std::string unit = rate ? "[Gb/s]" : "[us]";
  std::string text = '\n' + printable(fmt::format("{} {}, {} ({}): {}{}", family.operation,
                                                  family.test, name(family.metric), family.kind,
                                                  name(family.verdict), more_text(family.more)));
  if (!family.confounds.empty()) text += ", confounded";
  text += '\n';
  const std::string level = fmt::format("{:g}%", 100 * (1 - 2 * settings.alpha));
  TextTable table({{"size"},
                   {"A" + unit},
                   {"B" + unit},
                   {"B/A-1"},
                   {level + " low"},
                   {"high"},
                   {"verdict", TextTable::Align::left}});
  for (const Cell& cell : family.cells) add_row(table, family, cell);
  text += table.text();
  std::vector<std::string> said;
  for (const Cell& cell : family.cells) {
    const std::string& why = cell.judgement.text;
    if (why.empty() || std::find(said.begin(), said.end(), why) != said.end()) continue;
    said.push_back(why);
    text += printable(fmt::format("  {}: {}", size_text(cell), why)) + '\n';
  }
  return text;
}

}  // namespace

std::string to_table(const Comparison& comparison) {
  const Settings& settings = comparison.options.settings;
  std::string text = headline(comparison);
  text += side_text("A", comparison.a) + side_text("B", comparison.b);
  if (comparison.order.known) {
    text += fmt::format("Order by time: {}\n", comparison.order.pattern);
  }
  for (const bool declared : {false, true}) {
    for (const Confound& one : comparison.confounds) {
      if (one.declared != declared) continue;
      text += fmt::format("{}: {}\n", declared ? "Compared" : "Confounds", confound_text(one));
    }
  }
  for (const std::string& note : comparison.notes) {
    text += fmt::format("Note: {}\n", printable(note));
  }
  for (const Family& family : comparison.families) text += family_text(family, settings);
  text += fmt::format(
      "\nA wrong EQUIVALENT or DIFFERENT at the margin: {:g} % at most. Seed {} of the bootstrap, "
      "used above {} launches.\n",
      100 * settings.alpha, settings.seed, kMostForT);
  return text;
}

namespace {

/// By how much B is worse, as a log; negative if it is better.
double worse_by(const Family& family, const Cell& cell) {
  const double difference = cell.judgement.estimate->difference;
  return family.metric == Metric::bandwidth ? -difference : difference;
}

/// The cell that represents the comparison: the worst one proved to differ, else the one with the
/// largest difference.
struct Spokesman {
  const Family* family = nullptr;
  const Cell* cell = nullptr;
  double worse = 0;
};

struct Census {
  Spokesman worst;  ///< proved worse
  Spokesman best;   ///< proved better
  Spokesman farthest;
  std::size_t worse = 0;
  std::size_t better = 0;
  std::size_t cells = 0;
};

Census count(const Comparison& comparison) {
  Census census;
  const double alpha = comparison.options.settings.alpha;
  for (const Family& family : comparison.families) {
    for (const Cell& cell : family.cells) {
      if (!cell.judgement.estimate) continue;
      ++census.cells;
      const Spokesman one{&family, &cell, worse_by(family, cell)};
      const auto take = [&one](Spokesman& place, double by, double than) {
        if (place.cell == nullptr || by > than) place = one;
      };
      take(census.farthest, std::abs(one.worse), std::abs(census.farthest.worse));
      const bool proved =
          cell.judgement.verdict == Verdict::different && cell.p_beyond_adjusted < alpha;
      if (!proved) continue;
      if (one.worse > 0) {
        ++census.worse;
        take(census.worst, one.worse, census.worst.worse);
      } else {
        ++census.better;
        take(census.best, -one.worse, -census.best.worse);
      }
    }
  }
  return census;
}

std::string spoken(const Spokesman& one) {
  if (one.cell == nullptr) return "no quantity could be judged";
  const Estimate& estimate = *one.cell->judgement.estimate;
  return fmt::format("{} {} {} of {} {} [{}, {}]", one.family->operation, one.family->test,
                     name(one.family->metric), size_text(*one.cell), percent(estimate.difference),
                     percent(estimate.low), percent(estimate.high));
}

}  // namespace

Regression find_regression(const Comparison& comparison, const std::string& baseline) {
  const Census census = count(comparison);
  Regression regression;
  std::string word(name(comparison.verdict));
  std::string what = "most of all " + spoken(census.farthest);
  regression.settled = comparison.verdict != Verdict::inconclusive &&
                       comparison.verdict != Verdict::drifting &&
                       comparison.verdict != Verdict::refused;
  if (census.worse > 0) {
    regression.regressed = true;
    word = "REGRESSION";
    what = fmt::format("{}; {} of {} quantities", spoken(census.worst), census.worse, census.cells);
  } else if (census.better > 0) {
    word = "IMPROVEMENT";
    what = fmt::format("{}; {} of {} quantities", spoken(census.best), census.better, census.cells);
  }
  std::string confounds;
  for (const Confound& one : comparison.confounds) {
    if (!one.declared) confounds += (confounds.empty() ? "; confounded by " : ", ") + one.name;
  }
  std::string disturbed;
  for (const auto& [code, launches] : comparison.b.suspicions) {
    disturbed += fmt::format("; {} launches suspect of {}", launches, code);
  }
  const std::string lost =
      comparison.lost == 0
          ? ""
          : fmt::format("; {} quantities of the baseline have no value tonight", comparison.lost);
  regression.line =
      printable(fmt::format("{}: {}; {} launches against {} of '{}', margin {}{}{}{}{}", word, what,
                            comparison.b.launches, comparison.a.launches, baseline,
                            percent_of(comparison.options.settings.margin),
                            more_text(comparison.more), lost, confounds, disturbed));
  return regression;
}

}  // namespace rdmabench::analysis

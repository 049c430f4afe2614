// A projection in a few sentences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analysis/projection.h"
#include "decision_texts.h"
#include "rdmabench/base/units.h"
#include "results/number_column.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

/// "16 nodes", "8 G parameters", "4096 tokens per GPU".
std::string at_text(const Projection& projection, double value) {
  const Axis axis = projection.options.axis;
  return fmt::format("{} {}", report::digits_text(value),
                     axis == Axis::tokens ? "tokens per GPU" : std::string(name(axis)));
}

std::string step_text(double seconds) {
  return report::time_text(seconds * kNsPerSecond);
}

/// The rows that have both sides, and their differences: logs of B over A.
struct Compared {
  std::vector<const ProjectionRow*> rows;
  std::vector<double> logs;
};

Compared compared(const Projection& projection) {
  Compared all;
  for (const ProjectionRow& row : projection.rows) {
    if (!row.difference) continue;
    all.rows.push_back(&row);
    all.logs.push_back(std::log(row.b->time.step_s / row.a->time.step_s));
  }
  return all;
}

/// "8.1 %", or "8.1 to 30 %": how much shorter the better side's step is.
std::string range_text(const std::vector<double>& logs) {
  double least = HUGE_VAL;
  double most = 0;
  for (const double log : logs) {
    const double shorter = -std::expm1(-std::abs(log));
    least = std::min(least, shorter);
    most = std::max(most, shorter);
  }
  const std::string low = fmt::format("{:.2g}", 100 * least);
  const std::string high = fmt::format("{:.2g}", 100 * most);
  return low == high ? high + " %" : fmt::format("{} to {} %", low, high);
}

bool is_open(const ProjectionRow* row) {
  return row->difference->verdict == Verdict::inconclusive;
}

/// Before a sentence of which nothing is proved.
std::string_view unproved(const Compared& all) {
  return std::all_of(all.rows.begin(), all.rows.end(), is_open) ? "As measured, but not proved: "
                                                                : "";
}

/// Of how many values nothing was proved, and why.
std::string reservation(const Projection& projection, const Compared& all) {
  std::size_t open = 0;
  JointVerdict outcome;
  bool single = false;
  for (const ProjectionRow* row : all.rows) {
    if (!is_open(row)) continue;
    const Judgement& judgement = *row->difference;
    ++open;
    single |= !judgement.estimate;
    outcome.more = std::max(outcome.more.value_or(0), judgement.more.value_or(0));
    if (judgement.obstacle == Obstacle::noise) outcome.obstacle = Obstacle::noise;
    outcome.variation = std::max(outcome.variation, variation_of(judgement.deviation));
    if (outcome.obstacle == Obstacle::none) outcome.obstacle = judgement.obstacle;
  }
  if (open == 0) return "";
  if (outcome.more == 0U) outcome.more.reset();
  const std::string where =
      open == all.rows.size()
          ? ""
          : fmt::format(" At {} of {} values this is not proved.", open, all.rows.size());
  if (outcome.obstacle == Obstacle::noise) {
    ComparedSide side;
    for (const LinkSamples* samples : {&projection.a, &*projection.b}) {
      for (const auto& [code, launches] : samples->suspected) side.suspicions[code] += launches;
      side.remedies.insert(samples->remedies.begin(), samples->remedies.end());
    }
    return fmt::format("{} {}", where, advice(outcome, side, {}));
  }
  const std::string what =
      single ? "One launch says nothing about how launches differ." : advice(outcome, {}, {});
  return what.empty() ? where : fmt::format("{} {}", where, what);
}

std::string cost_text(const Projection& projection, const Compared& all) {
  const bool priced = std::all_of(all.rows.begin(), all.rows.end(), [](const ProjectionRow* row) {
    return row->a->cost && row->b->cost && *row->a->cost > 0 && *row->b->cost > 0;
  });
  if (all.rows.empty() || !priced) return "";
  std::vector<double> logs;
  std::size_t cheaper_b = 0;
  for (const ProjectionRow* row : all.rows) {
    logs.push_back(std::log(*row->b->cost / *row->a->cost));
    cheaper_b += logs.back() < 0 ? 1U : 0U;
  }
  const ProjectionOptions& options = projection.options;
  if (cheaper_b != 0 && cheaper_b != logs.size()) {
    return fmt::format(" A step costs less on {} at {} of {} values, and on {} at the others.",
                       options.b_name, cheaper_b, logs.size(), options.a_name);
  }
  const bool b = cheaper_b != 0;
  return fmt::format(" A step costs {} less on {} than on {}.", range_text(logs),
                     b ? options.b_name : options.a_name, b ? options.a_name : options.b_name);
}

std::string of_one(const Projection& projection) {
  std::vector<const ProjectionRow*> rows;
  for (const ProjectionRow& row : projection.rows) {
    if (row.a) rows.push_back(&row);
  }
  const auto text = [&](const ProjectionRow& row) {
    return fmt::format("{} at {}", step_text(row.a->time.step_s), at_text(projection, row.value));
  };
  return rows.size() == 1
             ? fmt::format("A step takes {}.", text(*rows[0]))
             : fmt::format("A step takes {}, and {}.", text(*rows.front()), text(*rows.back()));
}

std::string of_both(const Projection& projection) {
  const ProjectionOptions& options = projection.options;
  const Compared all = compared(projection);
  const std::size_t refused = projection.rows.size() - all.rows.size();
  const std::string rest = cost_text(projection, all) + reservation(projection, all) +
                           (refused == 0 ? ""
                                         : fmt::format(" {} of {} values are refused.", refused,
                                                       projection.rows.size()));
  const std::string margin = percent_of(options.settings.margin);
  if (!projection.break_evens.empty()) {
    return fmt::format("{}{}", fmt::join(break_even_sentences(projection), " "), rest);
  }
  const std::string first = at_text(projection, all.rows.front()->value);
  if (std::abs(all.logs.front()) <= std::log1p(options.settings.margin)) {
    return fmt::format(
        "{}{} and {} are alike from {} on: their steps differ by {}, which is within "
        "the margin of {}.{}",
        unproved(all), options.a_name, options.b_name, first, range_text(all.logs), margin, rest);
  }
  const bool b = all.logs.front() < 0;
  return fmt::format(
      "{}{} is better from {} on: its step is {} shorter than that of {}; the margin "
      "is {}.{}",
      unproved(all), b ? options.b_name : options.a_name, first, range_text(all.logs),
      b ? options.a_name : options.b_name, margin, rest);
}

}  // namespace

std::vector<std::string> break_even_sentences(const Projection& projection) {
  const ProjectionOptions& options = projection.options;
  const std::string margin = percent_of(options.settings.margin);
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < projection.break_evens.size(); ++i) {
    const BreakEven& one = projection.break_evens[i];
    const bool last = i + 1 == projection.break_evens.size();
    const BreakEven* const end = last ? nullptr : &projection.break_evens[i + 1];
    // Where a side stops being better was said as the end of its range.
    if (one.after == Direction::none && i > 0) continue;
    const std::string where =
        end == nullptr ? fmt::format("from about {} on (between {:.6g} and {:.6g})",
                                     at_text(projection, one.about), one.from, one.to)
                       : fmt::format("from about {} to about {}", report::digits_text(one.about),
                                     at_text(projection, end->about));
    std::vector<double> open;
    std::size_t rows = 0;
    for (const ProjectionRow& row : projection.rows) {
      if (!row.difference || row.value < one.to || (end != nullptr && row.value > end->from)) {
        continue;
      }
      ++rows;
      if (is_open(&row)) open.push_back(row.value);
    }
    const bool proved = open.size() < rows;
    const std::string claim =
        one.after == Direction::none
            ? fmt::format("within the margin of {}", margin)
            : fmt::format("{} {} better by more than the margin of {}",
                          one.after == Direction::better ? options.b_name : options.a_name,
                          proved ? "is" : "may be", margin);
    sentences.push_back(fmt::format(
        "Break-even: {} {}{}.", claim, where,
        !proved        ? ", which is not proved"
        : open.empty() ? ""
                       : fmt::format(", but not proved at {:.6g}", fmt::join(open, ", "))));
  }
  return sentences;
}

std::string summary(const Projection& projection) {
  const std::string without = not_rdma_words(projection);
  return without + (without.empty() ? "" : " ") +
         (projection.b ? of_both(projection) : of_one(projection));
}

}  // namespace rdmabench::inline v1::analysis

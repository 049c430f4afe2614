// A comparison in one or two sentences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/listed.h"
#include "decision_texts.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/base/units.h"
#include "results/number_column.h"
#include "results/text_table.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

using report::terminal_safe;

constexpr std::size_t kMostNames = 4;  // of what confounds, in a sentence

/// By how much B is worse, as a log; negative if it is better.
double worse_by(const Family& family, const Cell& cell) {
  const double difference = cell.judgement.estimate->difference;
  return family.metric == Metric::bandwidth ? -difference : difference;
}

/// A cell that the summary names.
struct ExtremeCell {
  const Family* family = nullptr;
  const Cell* cell = nullptr;
  double worse = 0;
};

/// The quantities by what was proved of them, and those that differ most.
struct VerdictCounts {
  ExtremeCell worst;  ///< proved worse
  ExtremeCell best;   ///< proved better
  ExtremeCell farthest;
  std::size_t worse = 0;
  std::size_t better = 0;
  std::size_t within = 0;
  std::size_t cells = 0;  ///< with an estimate
};

VerdictCounts count(const Comparison& comparison) {
  VerdictCounts counts;
  for (const Family& family : comparison.families) {
    for (const Cell& cell : family.cells) {
      if (!cell.judgement.estimate) continue;
      ++counts.cells;
      const ExtremeCell one{&family, &cell, worse_by(family, cell)};
      const auto take = [&one](ExtremeCell& place, double by, double than) {
        if (place.cell == nullptr || by > than) place = one;
      };
      take(counts.farthest, std::abs(one.worse), std::abs(counts.farthest.worse));
      const Verdict verdict = cell.judgement.verdict;
      counts.within += verdict == Verdict::equivalent || verdict == Verdict::immaterial ? 1U : 0U;
      if (verdict != Verdict::different) continue;
      if (cell.judgement.direction == Direction::worse) {
        ++counts.worse;
        take(counts.worst, one.worse, counts.worst.worse);
      } else {
        ++counts.better;
        take(counts.best, -one.worse, -counts.best.worse);
      }
    }
  }
  return counts;
}

/// "write latency p50 of 8 +20 % [+18 %, +22 %]"; in times from half and double on.
std::string extreme_text(const ExtremeCell& one) {
  if (one.cell == nullptr) return "no quantity could be judged";
  const Estimate& estimate = *one.cell->judgement.estimate;
  const bool times = std::abs(estimate.difference) >= std::log(2.0);
  const auto text = [times](double log_ratio) {
    return times ? report::digits_text(std::exp(log_ratio)) : percent(log_ratio);
  };
  return fmt::format("{} of {} {}{} [{}, {}]", family_text(*one.family), cell_text(*one.cell),
                     text(estimate.difference), times ? " times" : "", text(estimate.low),
                     text(estimate.high));
}

std::string first_reason(const Comparison& comparison, Verdict verdict) {
  for (const Family& family : comparison.families) {
    for (const Cell& cell : family.cells) {
      if (cell.judgement.verdict != verdict || cell.judgement.text.empty()) continue;
      return fmt::format("{} of {}: {}", family_text(family), cell_text(cell), cell.judgement.text);
    }
  }
  return "no value on both sides";
}

std::string different_sentence(const Comparison& comparison, const VerdictCounts& counts) {
  const std::string& a = comparison.options.a_name;
  const std::string& b = comparison.options.b_name;
  const std::string margin = percent_of(comparison.options.settings.margin);
  const std::string all = counted(counts.cells, "quantity");
  if (comparison.direction == Direction::mixed) {
    return fmt::format(
        "{} is better than {} in some quantities and worse in others (MIXED): {} of {} are better "
        "by more than the margin of {}, most of all {}; {} {} worse, most of all {}.",
        b, a, counts.better, all, margin, extreme_text(counts.best), counts.worse,
        counts.worse == 1 ? "is" : "are", extreme_text(counts.worst));
  }
  const bool worse = comparison.direction == Direction::worse;
  const std::size_t number = worse ? counts.worse : counts.better;
  return fmt::format(
      "{} is {} than {}: {} of {} {} {} by more than the margin of {}, most of all {}.", b,
      name(comparison.direction), a, number, all, number == 1 ? "is" : "are",
      worse ? "worse" : "better", margin, extreme_text(worse ? counts.worst : counts.best));
}

std::string sentence(const Comparison& comparison) {
  const std::string& a = comparison.options.a_name;
  const std::string& b = comparison.options.b_name;
  const std::string margin = percent_of(comparison.options.settings.margin);
  const VerdictCounts counts = count(comparison);
  const std::string all = counted(counts.cells, "quantity");
  switch (comparison.verdict) {
    case Verdict::different:
      return different_sentence(comparison, counts);
    case Verdict::equivalent:
      return fmt::format("{} is EQUIVALENT to {}: {} lie{} within the margin of {}.", b, a, all,
                         counts.cells == 1 ? "s" : "", margin);
    case Verdict::immaterial:
      return fmt::format(
          "{} is DIFFERENT from {} BUT that is IMMATERIAL: {} lie{} within the margin of {}, most "
          "of all differs {}.",
          b, a, all, counts.cells == 1 ? "s" : "", margin, extreme_text(counts.farthest));
    case Verdict::drifting:
      return fmt::format(
          "DRIFTING: {} cannot be compared with {}, because values moved with time; {}.", b, a,
          first_reason(comparison, Verdict::drifting));
    case Verdict::refused:
      return fmt::format("REFUSED: {} cannot be compared with {}; {}.", b, a,
                         first_reason(comparison, Verdict::refused));
    case Verdict::inconclusive:
      break;
  }
  const std::string what = advice(comparison, comparison.a, comparison.b);
  return fmt::format(
      "INCONCLUSIVE: it is not shown whether {} differs from {} by more than the margin of {}; within "
      "it: {} of {}.{}{}",
      b, a, margin, counts.within, all, what.empty() ? "" : " ", what);
}

/// The names of the undeclared differences.
std::vector<std::string> confounds_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const Confound& one : comparison.confounds) {
    if (!one.declared) names.push_back(one.name);
  }
  return names;
}

}  // namespace

std::string counted(std::size_t number, std::string_view one) {
  if (number == 1) return fmt::format("1 {}", one);
  if (one.ends_with("ch")) return fmt::format("{} {}es", number, one);
  if (one.ends_with('y')) return fmt::format("{} {}ies", number, one.substr(0, one.size() - 1));
  return fmt::format("{} {}s", number, one);
}

std::string percent_of(double ratio) {
  return report::percent_text(ratio);
}

std::string cell_text(const Cell& cell) {
  std::string text = format_size(cell.size_bytes);
  if (cell.load) text += fmt::format(" @{:g}", *cell.load);
  return text;
}

std::string family_text(const Family& family) {
  std::string text = fmt::format("{} {}", family.operation, family.test);
  if (name(family.metric) != family.test) text += fmt::format(" {}", name(family.metric));
  return text;
}

std::string advice(const JointVerdict& outcome, const ComparedSide& a, const ComparedSide& b) {
  if (outcome.obstacle == Obstacle::margin) {
    return "The difference seems to be about the margin itself, which no reasonable number of "
           "launches decides.";
  }
  if (outcome.obstacle == Obstacle::none) {
    if (!outcome.more) return "";
    const std::string more = counted(*outcome.more, "launch");
    const std::uint32_t have = std::min(a.launches, b.launches);
    if (*outcome.more < kMinLaunches || (have > 0 && have < kMinLaunches))
      return more + " more of each side would show it.";
    return fmt::format(
        "{} more of each side would show it, compared without these: a second look at launches that "
        "are added to these is wrong more often (see --planned).",
        more);
  }
  struct Found {
    std::uint32_t launches;
    std::string code;
    std::string remedy;
  };
  std::vector<Found> all;
  for (const ComparedSide* side : {&a, &b}) {
    for (const auto& [code, launches] : side->suspicions) {
      auto known = std::find_if(all.begin(), all.end(),
                                [&wanted = code](const Found& one) { return one.code == wanted; });
      if (known == all.end()) known = all.insert(all.end(), {0, code, ""});
      known->launches += launches;
      const auto remedy = side->remedies.find(code);
      if (remedy != side->remedies.end()) known->remedy = remedy->second;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Found& one, const Found& other) {
    return one.launches > other.launches;
  });
  std::string text = fmt::format(
      "These launches vary by {:.0f} %: remove the noise first, because more launches hardly help.",
      100 * outcome.variation);
  for (const Found& one : all) {
    text += fmt::format(" {} {} suspect of {}{}.", counted(one.launches, "launch"),
                        one.launches == 1 ? "is" : "are", one.code,
                        one.remedy.empty() ? "" : ": " + one.remedy);
  }
  if (all.empty()) {
    text +=
        " No launch is suspect of anything: pin the measuring threads, isolate their CPUs, and "
        "stop other jobs on the machines and the network.";
  }
  return text;
}

std::string summary(const Comparison& comparison) {
  const std::vector<std::string> names = confounds_of(comparison);
  const std::string confounded =
      names.empty()
          ? ""
          : fmt::format("CONFOUNDED by {}: not only what is compared differs. As they stand: ",
                        listed(names, kMostNames));
  const std::string without = not_rdma_words(comparison);
  return without + (without.empty() ? "" : " ") + confounded + sentence(comparison);
}

std::string regression_line(const Comparison& comparison) {
  const VerdictCounts counts = count(comparison);
  std::string word(name(comparison.verdict));
  std::string what = "most of all " + extreme_text(counts.farthest);
  if (counts.worse > 0) {
    word = "REGRESSION";
    what = fmt::format("{}; {} of {}", extreme_text(counts.worst), counts.worse,
                       counted(counts.cells, "quantity"));
  } else if (counts.better > 0) {
    word = "IMPROVEMENT";
    what = fmt::format("{}; {} of {}", extreme_text(counts.best), counts.better,
                       counted(counts.cells, "quantity"));
  }
  std::string rest;
  if (comparison.lost > 0) {
    rest +=
        fmt::format("; {} of the baseline {} no value in this run",
                    counted(comparison.lost, "quantity"), comparison.lost == 1 ? "has" : "have");
  }
  const std::vector<std::string> names = confounds_of(comparison);
  if (!names.empty()) rest += fmt::format("; confounded by {}", fmt::join(names, ", "));
  const std::string advised = advice(comparison, comparison.a, comparison.b);
  if (!advised.empty()) rest += "; " + advised;
  if (comparison.verdict == Verdict::inconclusive && counts.farthest.cell != nullptr &&
      !counts.farthest.cell->judgement.text.empty()) {
    rest += "; " + counts.farthest.cell->judgement.text;
  }
  if (comparison.obstacle != Obstacle::noise) {  // else the advice has them
    for (const auto& [code, launches] : comparison.b.suspicions) {
      rest += fmt::format("; {} suspect of {}", counted(launches, "launch"), code);
    }
  }
  const std::string without = not_rdma_words(comparison);
  return terminal_safe(fmt::format(
      "{}{}{}: {}; {} against {} of '{}', margin {}{}", without, without.empty() ? "" : " ", word,
      what, counted(comparison.b.launches, "launch"), comparison.a.launches,
      comparison.options.a_name, percent_of(comparison.options.settings.margin), rest));
}

}  // namespace rdmabench::inline v1::analysis

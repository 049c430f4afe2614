#include "rdmabench/analysis/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/nearest.h"
#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/measure/statistics.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

constexpr std::array<std::string_view, 5> kFailOns{"worse", "different", "inconclusive",
                                                   "confounded", "incomplete"};

using Launches = std::vector<const Launch*>;

ComparedSide summarize(const std::vector<Launch>& launches, Launches& kept, bool skip_failed,
                       const std::string& side_name) {
  ComparedSide side;
  std::set<std::string> pairs;
  for (const Launch& launch : launches) {
    if (launch.error) {
      side.failed.push_back(fmt::format("{}: {}", launch.source, *launch.error));
      continue;
    }
    kept.push_back(&launch);
    ++side.launches;
    pairs.insert(launch.pair);
    for (const std::string& code :
         std::set<std::string>(launch.suspicions.begin(), launch.suspicions.end())) {
      ++side.suspicions[code];
    }
    side.remedies.insert(launch.remedies.begin(), launch.remedies.end());
    for (const auto& [kind, count] : launch.disturbances) side.disturbances[kind] += count;
    if (!launch.not_rdma.empty()) ++side.not_rdma[launch.not_rdma];
  }
  side.pairs = static_cast<std::uint32_t>(pairs.size());
  if (!side.failed.empty() && !skip_failed) {
    throw Error(Fault::usage, fmt::format("a launch ended early: {}", side.failed[0]),
                "Repeat it, or leave such launches out by `skip_failed`, which says so beside the "
                "verdict.");
  }
  refuse_if(kept.empty(), fmt::format("side '{}' has no launch", side_name),
            "Give it at least one document, and five for a verdict.");
  return side;
}

/// Those that could be judged. `Some` is Cell, or const Cell.
template <class Some, class Families>
std::vector<Some*> usable(Families&& families) {
  std::vector<Some*> cells;
  for (auto& family : families) {
    for (Some& cell : family.cells) {
      if (cell.judgement.verdict != Verdict::refused) cells.push_back(&cell);
    }
  }
  return cells;
}

/// One kind of p-value of all cells, corrected together.
template <class PValue>
std::vector<double> holm_of(const std::vector<Cell*>& cells, PValue p_value) {
  std::vector<double> p_values;
  for (const Cell* const cell : cells) p_values.push_back(p_value(*cell));
  return holm(p_values);
}

/// Holm's correction over all cells, for each kind of p-value.
void adjust(const std::vector<Cell*>& cells) {
  const auto beyond = holm_of(cells, [](const Cell& one) { return one.judgement.p_beyond; });
  const auto nonzero = holm_of(cells, [](const Cell& one) { return one.judgement.p_nonzero; });
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i]->p_beyond_adjusted = beyond[i];
    cells[i]->p_nonzero_adjusted = nonzero[i];
  }
}

/// BETTER and WORSE are those of a row among all rows. EQUIVALENT is each row's own.
void withdraw_unadjusted(const std::vector<Cell*>& cells, double alpha) {
  for (Cell* cell : cells) {
    Judgement& judgement = cell->judgement;
    if (judgement.verdict != Verdict::different || cell->p_beyond_adjusted < alpha) continue;
    judgement.verdict = Verdict::inconclusive;
    judgement.text = fmt::format(
        "beyond the margin by itself (p = {:.2g}), but not after Holm's correction for {}",
        judgement.p_beyond, counted(cells.size(), "quantity"));
  }
}

/// DIFFERENT by more than the margin and `disturbance` together.
bool outweighs(const Cell& cell, const Settings& settings, double disturbance) {
  return cell.judgement.verdict == Verdict::different &&
         std::abs(cell.judgement.estimate->difference) >
             std::log1p(settings.margin) + std::abs(disturbance);
}

void set_drifting(Cell& cell, std::string why) {
  cell.judgement.verdict = Verdict::drifting;
  cell.judgement.more.reset();
  cell.judgement.text = std::move(why);
}

/// After a drift of more than half the margin no verdict is possible, because the time of a launch
/// would decide; likewise where launches that differ so much are like the one before, and the sides
/// ran in blocks. A
/// difference that is larger than such a disturbance is kept.
void refuse_drifting(const std::vector<Cell*>& cells, const Settings& settings, bool in_blocks) {
  constexpr double kAlpha = 0.05;
  const double matters = std::log1p(settings.margin) / 2;
  const auto trends = holm_of(cells, [](const Cell& one) { return one.drift.p_value; });
  const auto alike = holm_of(cells, [](const Cell& one) { return one.drift.alike_p; });
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Drift& drift = cells[i]->drift;
    if (trends[i] < kAlpha && std::abs(drift.change) > matters &&
        !outweighs(*cells[i], settings, drift.change)) {
      set_drifting(*cells[i],
                   fmt::format("the values moved by {:+.1f} % while the launches ran (p = {:.2g}); "
                               "find the cause, then measure the two sides in turn",
                               100 * std::expm1(drift.change), trends[i]));
    } else if (in_blocks && alike[i] < kAlpha && drift.spread > matters &&
               !outweighs(*cells[i], settings, drift.spread)) {
      set_drifting(
          *cells[i],
          fmt::format("each launch is like the one before (autocorrelation {:.2f}, "
                      "p = {:.2g}), and the sides ran one after the other, so that the time "
                      "of a launch would decide; measure them in turn: A B B A",
                      drift.alike, alike[i]));
    }
  }
}

/// Different if some cell is, by the adjusted p-value; equivalent if every cell is within the
/// margin. `more` becomes the largest need of an inconclusive cell, if all needs are known.
JointVerdict combine(const std::vector<const Cell*>& cells) {
  JointVerdict outcome;
  bool all_within = !cells.empty();
  bool some_nonzero = false;
  bool drifting = false;
  bool countable = true;
  std::uint32_t most = 0;
  for (const Cell* cell : cells) {
    const Judgement& judgement = cell->judgement;
    const Verdict verdict = judgement.verdict;
    if (verdict == Verdict::different) {
      const bool first = outcome.direction == Direction::none;
      outcome.verdict = Verdict::different;
      outcome.direction = first || outcome.direction == judgement.direction ? judgement.direction
                                                                            : Direction::mixed;
    }
    drifting |= verdict == Verdict::drifting;
    const bool within = verdict == Verdict::equivalent || verdict == Verdict::immaterial;
    all_within &= within;
    some_nonzero |= verdict == Verdict::immaterial && cell->p_nonzero_adjusted < kZeroAlpha;
    if (within) continue;
    countable &= judgement.more.has_value();
    most = std::max(most, judgement.more.value_or(0));
    if (judgement.obstacle == Obstacle::noise) {
      outcome.obstacle = Obstacle::noise;
      outcome.variation = std::max(outcome.variation, variation_of(judgement.deviation));
    } else if (outcome.obstacle == Obstacle::none) {
      outcome.obstacle = judgement.obstacle;
    }
  }
  if (outcome.verdict == Verdict::different) {
    outcome.obstacle = Obstacle::none;
    outcome.variation = 0;
    return outcome;
  }
  if (drifting) {
    outcome.verdict = Verdict::drifting;
  } else if (all_within) {
    outcome.verdict = some_nonzero ? Verdict::immaterial : Verdict::equivalent;
  } else if (cells.empty()) {
    outcome.verdict = Verdict::refused;
  } else if (countable && most > 0) {
    outcome.more = most;
  }
  return outcome;
}

/// A cell for each quantity of both sides.
void pair_up(Comparison& comparison, const Quantities& a, const Quantities& b) {
  std::vector<Family>& families = comparison.families;
  std::size_t common = 0;
  for (const auto& [key, sample] : a) {  // in the order of families
    const auto other = b.find(key);
    const bool has_value = sample.refusal.empty();
    if (other == b.end()) {
      ++comparison.absent;
      comparison.lost += has_value ? 1U : 0U;
      continue;
    }
    ++common;
    const bool lacks_value = !other->second.refusal.empty();
    comparison.refused += !has_value || lacks_value ? 1U : 0U;
    comparison.lost += has_value && lacks_value ? 1U : 0U;
    if (families.empty() || !belongs(key, families.back())) {
      families.emplace_back();
      families.back().test = key.test;
      families.back().operation = key.operation;
      families.back().kind = key.kind;
      families.back().metric = key.metric;
    }
    families.back().cells.push_back(make_cell(key, sample, other->second, comparison.options));
  }
  refuse_if(common == 0, "the two sides measured nothing in common",
            "A quantity is a test, an operation, a size and what its number means; measure the "
            "same ones on both sides.");
  if (const std::size_t alone = a.size() + b.size() - 2 * common; alone > 0) {
    comparison.notes.push_back(
        fmt::format("{} quantities were measured on one side alone and are left out.", alone));
  }
  if (comparison.lost > 0) {
    comparison.notes.push_back(
        fmt::format("{} quantities of {} have no value in {}: the verdict is without them.",
                    comparison.lost, comparison.options.a_name, comparison.options.b_name));
  }
}

/// The facts of one test and operation.
void gate(Comparison& comparison, const Launches& a, const Launches& b) {
  std::map<std::string, Confound> found;
  std::map<std::string, std::set<std::string>> places;
  std::set<std::string> all_places;
  for (Family& family : comparison.families) {
    const auto of_family = [&](const Launches& side) {
      Launches some;
      std::copy_if(side.begin(), side.end(), std::back_inserter(some), [&](const Launch* launch) {
        return launch->test == family.test &&
               std::any_of(launch->rows.begin(), launch->rows.end(),
                           [&](const Row& row) { return row.operation == family.operation; });
      });
      return some;
    };
    const std::string place = fmt::format("{} {}", family.operation, family.test);
    all_places.insert(place);
    for (Confound& one :
         find_confounds(of_family(a), of_family(b), family.operation, comparison.options.factors)) {
      if (!one.declared) family.confounds.push_back(one.name);
      places[one.name].insert(place);
      Confound& all = found.emplace(one.name, one).first->second;
      all.a.insert(one.a.begin(), one.a.end());
      all.b.insert(one.b.begin(), one.b.end());
    }
  }
  for (auto& [name, confound] : found) {
    if (places[name] != all_places)
      confound.where = fmt::format("{}", fmt::join(places[name], ", "));
    comparison.confounds.push_back(std::move(confound));
  }
}

void note_order(Comparison& comparison) {
  if (!comparison.order.known) {
    comparison.notes.emplace_back(
        "Some launches have no collected_utc: neither their order nor a drift can be checked.");
    return;
  }
  if (comparison.order.separate && !comparison.options.baseline) {
    comparison.notes.emplace_back(
        "All launches of one side ran before all of the other: whatever changed meanwhile counts as "
        "a difference. Run them in turn: A B B A.");
  }
}

/// If one side has many more launches, the skewness of the noise does not cancel.
void note_balance(Comparison& comparison) {
  const auto [fewer, more] = std::minmax(comparison.a.launches, comparison.b.launches);
  if (more < 2 * fewer) return;
  comparison.notes.push_back(fmt::format(
      "{} launches of {} against {} of {}: where noise is skewed, a wrong EQUIVALENT is more likely than the "
      "alpha. Run as many of both.",
      comparison.b.launches, comparison.options.b_name, comparison.a.launches,
      comparison.options.a_name));
}

void note_factors(Comparison& comparison) {
  for (const std::string& word : comparison.options.factors.words()) {
    const bool differs =
        std::any_of(comparison.confounds.begin(), comparison.confounds.end(),
                    [&](const Confound& one) { return Factors({word}).declare(one.name); });
    if (!differs) {
      comparison.notes.push_back(
          fmt::format("Nothing of the declared factor '{}' differs between the two sides.", word));
    }
  }
}

/// The alpha of this look, where there may be more.
void spend_alpha(Comparison& comparison) {
  const std::uint32_t planned = comparison.options.planned;
  if (planned == 0) return;
  const auto [fewer, more] = std::minmax(comparison.a.launches, comparison.b.launches);
  refuse_if(more > planned,
            fmt::format("{} launches of a side, and {} were planned", more, planned),
            "The alpha is spent with those planned: judge a new sample without these.");
  double& alpha = comparison.options.settings.alpha;
  const double all = alpha;
  alpha = alpha_of_look(all, static_cast<double>(fewer) / planned);
  comparison.notes.push_back(fmt::format(
      "A look at {} of {} planned launches: at {:.2g} %, so that all looks together are wrong in {:g} % "
      "at most (Lan and DeMets 1983).",
      fewer, planned, 100 * alpha, 100 * all));
}

/// Long runs of one side: A A A B B B, but not A B B A.
bool in_blocks(const LaunchSequence& order) {
  constexpr std::size_t kLongRun = 3;
  return order.known && kLongRun * order.blocks <= order.pattern.size();
}

}  // namespace

Comparison compare(const std::vector<Launch>& a, const std::vector<Launch>& b,
                   const ComparisonOptions& options) {
  options.settings.check();
  check_names(options.a_name, options.b_name);
  refuse_copies(a, b);
  Comparison comparison;
  comparison.options = options;
  Launches kept_a;
  Launches kept_b;
  comparison.a = summarize(a, kept_a, options.skip_failed, options.a_name);
  comparison.b = summarize(b, kept_b, options.skip_failed, options.b_name);
  spend_alpha(comparison);
  pair_up(comparison, collect_quantities(kept_a, options.metrics),
          collect_quantities(kept_b, options.metrics));
  comparison.order = order_of(kept_a, kept_b);
  const Settings& settings = comparison.options.settings;
  const auto cells = usable<Cell>(comparison.families);
  adjust(cells);
  withdraw_unadjusted(cells, settings.alpha);
  refuse_drifting(cells, settings, !options.baseline && in_blocks(comparison.order));
  for (Family& family : comparison.families) {
    for (Cell& cell : family.cells) {
      set_direction(cell.judgement, family.metric == Metric::bandwidth);
    }
  }
  for (Family& family : comparison.families) {
    static_cast<JointVerdict&>(family) = combine(usable<const Cell>(std::span(&family, 1)));
  }
  static_cast<JointVerdict&>(comparison) = combine(usable<const Cell>(comparison.families));
  note_balance(comparison);
  gate(comparison, kept_a, kept_b);
  note_order(comparison);
  note_factors(comparison);
  return comparison;
}

bool Comparison::confounded() const {
  return std::any_of(confounds.begin(), confounds.end(),
                     [](const Confound& confound) { return !confound.declared; });
}

bool Comparison::failed() const {
  const auto is_so = [this](FailOn what) {
    switch (what) {
      case FailOn::worse:
        return direction == Direction::worse || direction == Direction::mixed;
      case FailOn::different:
        return verdict == Verdict::different;
      case FailOn::inconclusive:
        return verdict == Verdict::inconclusive || verdict == Verdict::drifting ||
               verdict == Verdict::refused;
      case FailOn::confounded:
        return confounded();
      case FailOn::incomplete:
        break;
    }
    return !complete();
  };
  return std::any_of(options.fail_on.begin(), options.fail_on.end(), is_so);
}

std::string_view name(FailOn what) noexcept {
  return kFailOns[static_cast<std::size_t>(what)];
}

FailOn parse_fail_on(std::string_view text) {
  return value_of_word<FailOn>("condition", text, kFailOns);
}

}  // namespace rdmabench::inline v1::analysis

#include "analysis/decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/measuring_plan.h"
#include "analysis/power.h"
#include "decision_search.h"
#include "rdmabench/base/error.h"
#include "values.h"

namespace rdmabench::analysis {
namespace {

constexpr double kMonthHours = 730;
constexpr std::uint32_t kManyMore = 30;  ///< further launches that nobody would wait for
constexpr double kNoisy = 0.1;           ///< variation of launches above which noise is to blame

/// Of a monotone function of the log of B's step over A's.
template <class Function>
Likely likely(const Judgement& judgement, double log_ratio, Function of) {
  Likely result;
  result.value = of(log_ratio);
  if (!judgement.estimate) return result;
  const double first = of(judgement.estimate->low);
  const double second = of(judgement.estimate->high);
  result.low = std::min(first, second);
  result.high = std::max(first, second);
  return result;
}

std::vector<const Launch*> pointers(const std::vector<Launch>& launches) {
  std::vector<const Launch*> all;
  for (const Launch& launch : launches) all.push_back(&launch);
  return all;
}

/// A side's launches that ended early, so that all reasons are told at once.
void add_failed(const std::string& side, const std::vector<Launch>& launches,
                std::vector<std::string>& missing) {
  for (const Launch& launch : launches) {
    if (!launch.error) continue;
    missing.push_back(fmt::format("{}: {} ended early: {}", side, launch.source, *launch.error));
  }
}

[[noreturn]] void refuse(const std::vector<std::string>& missing, const DecisionOptions& options,
                         const std::string& operation) {
  const MeasuringPlan plan = plan_measuring(options.projection, operation);
  std::string remedy = fmt::format(
      "Measure in {} launches of each, on both networks in turn:\n  {}\nThis writes all of it as a "
      "script:\n  {}",
      plan.launches, fmt::join(commands_of(plan), "\n  "), options.new_plan_command);
  throw Error(
      Fault::usage,
      fmt::format("the measurements do not carry the decision:\n  {}", fmt::join(missing, "\n  ")),
      remedy);
}

/// Both sides' curves, or all that they lack.
std::pair<LinkSamples, LinkSamples> collect_both(const std::vector<Launch>& a,
                                                 const std::vector<Launch>& b,
                                                 const DecisionOptions& options) {
  std::vector<std::string> missing;
  add_failed(options.projection.a_name, a, missing);
  add_failed(options.projection.b_name, b, missing);
  std::pair<LinkSamples, LinkSamples> both;
  std::string operation = options.operation;
  const auto collect = [&](const std::string& side, const std::vector<Launch>& launches,
                           LinkSamples& to) {
    std::vector<Launch> whole;
    std::copy_if(launches.begin(), launches.end(), std::back_inserter(whole),
                 [](const Launch& one) { return !one.error; });
    try {
      to = collect_link(whole, operation);
      operation = to.operation;
    } catch (const Error& error) {
      std::string why = error.what();
      if (why.ends_with('.')) why.pop_back();
      missing.push_back(fmt::format("{}: {}", side, why));
      return;
    }
    const ProjectionOptions& projection = options.projection;
    const TimeSource source = projection.source.value_or(TimeSource::both);
    for (std::string& one : missing_for(projection, source, side, to)) {
      missing.push_back(std::move(one));
    }
  };
  collect(options.projection.a_name, a, both.first);
  collect(options.projection.b_name, b, both.second);
  if (!missing.empty()) refuse(missing, options, operation);
  return both;
}

Work work_of(const Decision& decision, const Judgement& judgement, std::string kind, double steps) {
  const ProjectionRow& row = decision.projection.rows.back();
  const double log_ratio = -std::log(decision.ratio.value);
  Work work;
  work.kind = std::move(kind);
  work.steps = steps;
  work.a_s = steps * row.a->time.step_s;
  work.b_s = steps * row.b->time.step_s;
  work.saved_s =
      likely(judgement, log_ratio, [&](double log) { return work.b_s * (1 - std::exp(-log)); });
  if (row.a->cost && row.b->cost) {
    work.a_cost = steps * *row.a->cost;
    work.b_cost = steps * *row.b->cost;
    const double prices =
        *decision.options.projection.price_a / *decision.options.projection.price_b;
    work.saved_cost = likely(judgement, log_ratio, [&](double log) {
      return *work.b_cost * (1 - prices * std::exp(-log));
    });
  }
  return work;
}

void add_works(Decision& decision, const Judgement& judgement) {
  const DecisionOptions& options = decision.options;
  const auto add = [&](const char* kind, double steps) {
    decision.works.push_back(work_of(decision, judgement, kind, steps));
  };
  add("thousand_steps", 1000);
  const Job& job = options.projection.job;
  if (options.steps) add("run", *options.steps);
  if (options.tokens_total) {
    add("run", std::ceil(*options.tokens_total /
                         (job.tokens_per_gpu * job.gpus_per_node * decision.nodes)));
  }
  const double step_b = decision.projection.rows.back().b->time.step_s;
  add("month_of_b", std::floor(kMonthHours * 3600 / step_b));
}

/// The answer, why it is so, and what would prove it.
void judge_answer(Decision& decision, const Judgement& judgement) {
  const double limit = std::log(decision.limit);
  const double difference = -std::log(decision.ratio.value);
  decision.launches = judgement.a_units;
  decision.variation = variation_of(judgement.deviation);
  decision.pays = difference > limit;
  if (judgement.a_units < kFewestLaunches || !judgement.estimate) {
    decision.ground = Ground::few;
    decision.more_launches = kFewestLaunches - std::min(kFewestLaunches, judgement.a_units);
    return;
  }
  if (judgement.estimate->low > limit || judgement.estimate->high < limit) {
    decision.answer = judgement.estimate->low > limit ? Answer::yes : Answer::no;
    decision.ground = Ground::proven;
    return;
  }
  // Proving a side of the limit is proving a difference from it beyond no margin at all.
  const Settings& settings = decision.options.projection.settings;
  const auto need = launches_needed({.deviation = judgement.deviation,
                                     .difference = difference - limit,
                                     .margin = 1e-9,
                                     .alpha = settings.alpha,
                                     .power = settings.power});
  if (need && *need <= judgement.a_units + kManyMore) {
    decision.ground = Ground::more;
    decision.more_launches = std::max(*need, judgement.a_units + 1) - judgement.a_units;
  } else {
    decision.ground = decision.variation > kNoisy ? Ground::noise : Ground::close;
  }
}

}  // namespace

std::string_view name(Answer answer) noexcept {
  return answer == Answer::yes ? "YES" : answer == Answer::no ? "NO" : "NOT PROVEN";
}

std::string_view name(Ground ground) noexcept {
  constexpr std::array<std::string_view, 5> kWords{"proven", "few_launches", "more_launches",
                                                   "noise", "close"};
  return kWords[static_cast<std::size_t>(ground)];
}

void DecisionOptions::check() const {
  if (projection.axis != Axis::nodes) {
    throw Error(Fault::usage, fmt::format("a decision over several {}", name(projection.axis)),
                "Several values may be given of `nodes` alone.");
  }
  if (projection.price_a.has_value() != projection.price_b.has_value()) {
    throw Error(Fault::usage, "the price of one network alone",
                "Give both, `price_a` and `price_b`, or neither.");
  }
  for (const auto& price : {projection.price_a, projection.price_b}) {
    if (price && !(*price > 0 && std::isfinite(*price))) {
      throw Error(Fault::usage, fmt::format("a price of {:g}", *price),
                  "It is that of one node for an hour, and over 0.");
    }
  }
  if (steps && tokens_total) {
    throw Error(Fault::usage, "`steps` and `tokens_total` together", "Give one of them.");
  }
  if ((steps && !(*steps >= 1)) || (tokens_total && !(*tokens_total >= 1))) {
    throw Error(Fault::usage, "a run without a step", "It has at least one.");
  }
  check_names(projection.a_name, projection.b_name);
}

Decision decide(const std::vector<Launch>& a, const std::vector<Launch>& b,
                const DecisionOptions& options) {
  options.check();
  refuse_copies(a, b);
  Decision decision;
  decision.options = options;
  auto [of_a, of_b] = collect_both(a, b, options);
  decision.projection = project(std::move(of_a), std::move(of_b), options.projection);
  for (const ProjectionRow& row : decision.projection.rows) {
    if (row.refusal.empty()) continue;
    refuse({fmt::format("{:g} nodes: {}", row.value, row.refusal)}, options,
           decision.projection.a.operation);
  }
  const ProjectionRow& judged = decision.projection.rows.back();
  const Judgement& judgement = *judged.difference;
  const double log_ratio = std::log(judged.b->time.step_s / judged.a->time.step_s);
  decision.nodes = judged.value;
  decision.ratio = likely(judgement, log_ratio, [](double log) { return std::exp(-log); });
  decision.premium = likely(judgement, log_ratio, [](double log) { return std::expm1(log); });
  decision.limit = 1 + options.projection.settings.margin;
  if (options.projection.price_a) {
    decision.limit = *options.projection.price_a / *options.projection.price_b;
    decision.cost_ratio =
        likely(judgement, log_ratio, [&](double log) { return decision.limit * std::exp(-log); });
  }
  judge_answer(decision, judgement);
  add_works(decision, judgement);
  decision.paying = find_paying_nodes(decision);
  decision.flips = find_flips(decision);
  decision.order = order_of(pointers(a), pointers(b));
  return decision;
}

}  // namespace rdmabench::analysis

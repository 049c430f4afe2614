#include "analysis/decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/measuring_plan.h"
#include "analysis/power.h"
#include "analysis/shortage.h"
#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
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
  throw Error(Fault::usage,
              fmt::format("the measurements are not enough for the decision:\n  {}",
                          fmt::join(missing, "\n  ")),
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
  if (judgement.a_units < kMinLaunches || !judgement.estimate) {
    decision.reason = AnswerReason::few;
    decision.more_launches = kMinLaunches - std::min(kMinLaunches, judgement.a_units);
    return;
  }
  if (judgement.estimate->low > limit && decision.units < 2 && !decision.options.one_pair) {
    decision.reason = AnswerReason::one_session;
    return;
  }
  if (judgement.estimate->low > limit || judgement.estimate->high < limit) {
    decision.answer = judgement.estimate->low > limit ? Answer::yes : Answer::no;
    decision.reason = AnswerReason::proven;
    return;
  }
  // Proving a side of the limit is proving a difference from it beyond no margin at all.
  const Settings& settings = decision.options.projection.settings;
  // Launches of one unit are alike: where there are several, only more of them narrow the range.
  const bool by_unit = decision.units >= 2;
  const auto have = by_unit ? static_cast<std::uint32_t>(decision.units) : judgement.a_units;
  const auto need = launches_needed({.deviation = judgement.deviation,
                                     .difference = difference - limit,
                                     .margin = 1e-9,
                                     .alpha = settings.alpha,
                                     .power = settings.power});
  const bool reachable = need && *need <= have + kManyMore;
  if (!reachable && decision.variation > kNoisy) {
    decision.reason = AnswerReason::noise;
  } else if (decision.projection.suspect_launches() > 0) {
    decision.reason = AnswerReason::disturbed;
  } else if (!reachable) {
    decision.reason = AnswerReason::close;
  } else {
    decision.reason = AnswerReason::more;
    if (!by_unit) decision.more_launches = std::max(*need, have + 1) - have;
  }
}

// Where along one assumption, or along the number of nodes, the estimate changes.

/// An assumption that is varied by itself.
struct Searched {
  const char* name;
  double Job::*member;
  double from;
  double to;
  enum class Scale : std::uint8_t { linear, logarithmic, whole } scale;
};

constexpr std::array<Searched, 5> kSearched{{
    {"overlap", &Job::overlap, 0, 1, Searched::Scale::linear},
    {"rails", &Job::rails, 1, 8, Searched::Scale::whole},
    {"mfu", &Job::mfu, 0.1, 0.8, Searched::Scale::logarithmic},
    {"tokens_per_gpu", &Job::tokens_per_gpu, 512, 65536, Searched::Scale::logarithmic},
    {"bucket_bytes", &Job::bucket_bytes, 1 << 20, 1 << 30, Searched::Scale::logarithmic},
}};

constexpr int kStepsOfRange = 64;  ///< over a range, before bisection

/// Whether the estimate says that A pays for this job; none where the measurements are not enough.
std::optional<bool> pays_for(const Decision& decision, const Job& job) {
  const auto ratio = step_ratio(decision.projection, job);
  return ratio ? std::optional(*ratio > decision.limit) : std::nullopt;
}

/// A range from 0 to 1 and back.
class Scaled {
 public:
  explicit Scaled(const Searched& searched, double now)
      : searched_(searched), from_(std::min(searched.from, now)), to_(std::max(searched.to, now)) {}
  double share(double value) const {
    return searched_.scale == Searched::Scale::logarithmic
               ? std::log(value / from_) / std::log(to_ / from_)
               : (value - from_) / (to_ - from_);
  }
  double value(double share) const {
    const double value = searched_.scale == Searched::Scale::logarithmic
                             ? from_ * std::pow(to_ / from_, share)
                             : from_ + share * (to_ - from_);
    return searched_.scale == Searched::Scale::whole ? std::round(value) : value;
  }

 private:
  const Searched& searched_;
  double from_;
  double to_;
};

class FlipSearch {
 public:
  FlipSearch(const Decision& decision, const Searched& searched)
      : decision_(decision),
        searched_(searched),
        job_(decision.options.projection.job),
        range_(searched, job_.*searched.member) {
    job_.nodes = decision.nodes;
  }

  Flip find() {
    Flip flip;
    flip.name = searched_.name;
    flip.now = job_.*searched_.member;
    flip.distance = 1;
    const double now = range_.share(flip.now);
    const Reached up = go(now, 1);
    const Reached down = go(now, 0);
    flip.from = range_.value(down.carried);
    flip.to = range_.value(up.carried);
    flip.cut_short = down.cut_short || up.cut_short;
    const auto distance = [now](const Reached& reached) {
      return reached.flip ? std::abs(*reached.flip - now) : INFINITY;
    };
    const Reached& nearest = distance(up) <= distance(down) ? up : down;
    if (nearest.flip) {
      flip.at = range_.value(*nearest.flip);
      flip.upwards = &nearest == &up;
      flip.distance = distance(nearest);
    }
    return flip;
  }

 private:
  struct Reached {
    std::optional<double> flip;
    double carried = 0;  ///< the last share that the measurements carry
    bool cut_short = false;
  };

  std::optional<bool> pays(double share) {
    Job job = job_;
    job.*searched_.member = range_.value(share);
    return pays_for(decision_, job);
  }

  Reached go(double from, double end) {
    Reached reached;
    reached.carried = from;
    const int steps =
        searched_.scale == Searched::Scale::whole
            ? static_cast<int>(std::lround(std::abs(range_.value(end) - range_.value(from))))
            : kStepsOfRange;
    for (int i = 1; i <= steps; ++i) {
      const double share = from + (end - from) * i / steps;
      const auto now = pays(share);
      if (!now) {
        reached.cut_short = true;
        return reached;
      }
      if (*now != decision_.pays) {
        reached.flip =
            searched_.scale == Searched::Scale::whole ? share : bisect(reached.carried, share);
        return reached;
      }
      reached.carried = share;
    }
    return reached;
  }

  double bisect(double same, double other) {
    for (int i = 0; i < 40; ++i) {
      const double middle = (same + other) / 2;
      (pays(middle).value_or(decision_.pays) == decision_.pays ? same : other) = middle;
    }
    return other;
  }

  const Decision& decision_;
  const Searched& searched_;
  Job job_;
  Scaled range_;
};

/// The last whole number from `same` towards `other` at which it pays as at `same`.
double last_that_pays(const Decision& decision, Job job, double same, double other) {
  while (std::abs(other - same) > 1) {
    job.nodes = std::floor((same + other) / 2);
    (pays_for(decision, job).value_or(true) ? same : other) = job.nodes;
  }
  return same;
}

std::vector<PayingSpan> spans_at(const Decision& decision, double overlap) {
  const std::vector<double>& values = decision.options.projection.values;
  Job job = decision.options.projection.job;
  job.overlap = overlap;
  std::vector<PayingSpan> spans;
  bool before = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    job.nodes = values[i];
    const bool now = pays_for(decision, job).value_or(before);
    if (now && !before) {
      const double from =
          i == 0 ? values[i] : last_that_pays(decision, job, values[i], values[i - 1]);
      spans.push_back({from, values[i]});
    } else if (now) {
      spans.back().to = values[i];
    } else if (before) {
      spans.back().to = last_that_pays(decision, job, values[i - 1], values[i]);
    }
    before = now;
  }
  return spans;
}

/// At no overlap, at the assumed one, and at all of it.
std::vector<PayingNodes> find_paying_nodes(const Decision& decision) {
  const double assumed = decision.options.projection.job.overlap;
  return {{"none", 0, spans_at(decision, 0)},
          {"assumed", assumed, spans_at(decision, assumed)},
          {"full", 1, spans_at(decision, 1)}};
}

/// Of every assumption that is searched, the nearest first.
std::vector<Flip> find_flips(const Decision& decision) {
  const ProjectionOptions& options = decision.options.projection;
  std::vector<Flip> flips;
  if (decision.nodes <= 1) return flips;  // there is no network
  for (const Searched& searched : kSearched) {
    const bool bucket = searched.member == &Job::bucket_bytes;
    if (bucket && options.job.parallel != Parallel::data) continue;
    Flip flip = FlipSearch(decision, searched).find();
    const auto origin = options.origins.find(flip.name);
    flip.origin = origin == options.origins.end() ? "default" : origin->second;
    flips.push_back(std::move(flip));
  }
  std::stable_sort(flips.begin(), flips.end(),
                   [](const Flip& x, const Flip& y) { return x.distance < y.distance; });
  return flips;
}

}  // namespace

std::string_view name(Answer answer) noexcept {
  return answer == Answer::yes ? "YES" : answer == Answer::no ? "NO" : "NOT PROVEN";
}

std::string_view name(AnswerReason reason) noexcept {
  constexpr std::array<std::string_view, 7> kWords{
      "proven", "few_launches", "more_launches", "noise", "close", "disturbed", "one_session"};
  return kWords[static_cast<std::size_t>(reason)];
}

void DecisionOptions::check() const {
  refuse_if(projection.axis != Axis::nodes,
            fmt::format("a decision cannot have several values of `{}`", name(projection.axis)),
            "Several values may be given of `nodes` alone.");
  refuse_if(projection.price_a.has_value() != projection.price_b.has_value(),
            "`price_a` and `price_b`: only one of them is given", "Give both or neither.");
  for (const auto& price : {projection.price_a, projection.price_b}) {
    if (price && !(*price > 0 && std::isfinite(*price))) {
      throw Error(Fault::usage, fmt::format("invalid price {:g}", *price),
                  "It is that of one node for an hour, and over 0.");
    }
  }
  refuse_if(steps && tokens_total, "`steps` and `tokens_total` are both given",
            "Give one of them.");
  refuse_if((steps && !(*steps >= 1)) || (tokens_total && !(*tokens_total >= 1)),
            "`steps` or `tokens_total` is below 1", "Take 1 or more.");
  constexpr std::size_t kLongest = 12;  // bytes: four letters of Hangul
  const bool has_number =
      std::any_of(currency.begin(), currency.end(), [](char c) { return c >= '0' && c <= '9'; });
  refuse_if(currency.size() > kLongest || has_number || report::terminal_safe(currency) != currency,
            fmt::format("`currency` of '{}'", ascii_only(currency, 2 * kLongest)),
            "It is a code, a sign or a short word: USD, EUR, $.");
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
  decision.units = judged.units;
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

}  // namespace rdmabench::inline v1::analysis
